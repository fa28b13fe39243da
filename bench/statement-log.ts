import { readFileSync, readlinkSync, statSync } from 'node:fs';
import { waitFor } from '@customer-platform/testkit';
import postgres from 'postgres';

/** Statement as a process sent it; `null` is a NULL parameter. */
export interface LoggedStatement {
  session: number;
  text: string;
  parameters: (string | null)[];
}

const settings = { log_statement: 'all', log_line_prefix: '%p/%a/ ', log_parameter_max_length: '-1' };

/**
 * Returns the statements that processes with one application name, or all, send to PostgreSQL while `work` runs. They come from the
 * server's log, so that the bench measures the platform's statements, not an old copy of them. The server must have been started by
 * this user.
 */
export async function statementsOf(
  databaseUrl: string,
  application: string | undefined,
  work: () => Promise<unknown>,
): Promise<LoggedStatement[]> {
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => undefined });
  try {
    const [row] = await sql<{ pid: number }[]>`select pg_backend_pid() as pid`;
    const file = readlinkSync(`/proc/${row!.pid}/fd/2`);
    for (const [name, value] of Object.entries(settings)) await sql.unsafe(`alter system set ${name} = '${value}'`);
    await sql`select pg_reload_conf()`;
    await waitFor('the settings', async () => (await sql`show log_statement`)[0]!.log_statement === 'all');
    const from = statSync(file).size;
    await work();
    return parseLog(readFileSync(file).subarray(from).toString(), application);
  } finally {
    await sql`alter system reset all`;
    await sql`select pg_reload_conf()`;
    await sql.end();
  }
}

/** Returns the statements between begin and commit of each transaction, in commit order. */
export function transactionsOf(statements: readonly LoggedStatement[]): LoggedStatement[][] {
  const open = new Map<number, LoggedStatement[]>();
  const committed: LoggedStatement[][] = [];
  for (const statement of statements) {
    const { session, text } = statement;
    if (/^begin\b/i.test(text)) open.set(session, []);
    else if (/^rollback\b/i.test(text)) open.delete(session);
    else if (/^commit\b/i.test(text)) {
      committed.push(open.get(session) ?? []);
      open.delete(session);
    } else open.get(session)?.push(statement);
  }
  return committed;
}

function parseLog(log: string, application: string | undefined): LoggedStatement[] {
  const statements: LoggedStatement[] = [];
  // A continuation line begins with a tab.
  for (const entry of log.replace(/\n\t/g, '\n ').split(/\n(?=\d+\/)/)) {
    const [, pid, name, kind, text] = /^(\d+)\/([^/]*)\/ (LOG|DETAIL): {2}([\s\S]*)$/.exec(entry) ?? [];
    if (text === undefined || (application !== undefined && name !== application)) continue;
    const statement = /^(?:statement|execute [^:]*): ([\s\S]*)$/.exec(text)?.[1];
    if (kind === 'LOG' && statement !== undefined) {
      statements.push({ session: Number(pid), text: statement.trim(), parameters: [] });
    } else if (kind === 'DETAIL' && /^parameters: /i.test(text)) {
      const last = statements.findLast(({ session }) => session === Number(pid));
      if (last) last.parameters = parseParameters(text);
    }
  }
  return statements;
}

function parseParameters(text: string): (string | null)[] {
  const found = [...text.matchAll(/\$\d+ = (NULL|'((?:[^']|'')*)')/g)];
  return found.map(([, whole, value]) => (whole === 'NULL' ? null : value!.replaceAll("''", "'")));
}
