import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import postgres from 'postgres';
import { withTimeout } from '../../values/with-timeout.ts';
import { columnTypes } from '../column-types.ts';
import { isDatabaseUnavailable, NotConnected } from '../database-errors.ts';
import { setAnalyzedOften } from './analyzed-often.sql.ts';

/** The migrations of the tables that every process has; they come before its own. */
export const kitMigrations = new URL('../../../migrations/', import.meta.url);

/** Codes of what gave way to others: a lock that was not to be had in time, and a deadlock. */
const gaveWay = ['55P03', '40P01'];
/**
 * Lock timeout of a migration's attempts and the pause in which others get through before the next: they wait behind it, and a backup or a long
 * report may hold the lock for hours. Only where thirty short attempts met somebody each time, it waits for longer, and then seldom.
 */
const shortAttempts = { most: 30, lockTimeoutMs: 200, pauseMs: 1_000 };
const longAttempts = { lockTimeoutMs: 2_000, pauseMs: 15_000 };
/** Pause before another process or a database that is unavailable is asked again. */
const retryMs = 1_000;
/** Time for which a database that is unavailable is asked, before the process ends and says why. */
const unavailableMs = 60_000;
/** Time in which a database takes a connection and responds; the driver would dial one that closes it for ever. */
const responseMs = 5_000;

/**
 * Brings a schema up to date: applies each `NNNN_name.sql` of the directories that it has not seen, in order, one process at a time, each
 * in one transaction; but one that only builds or drops indexes concurrently in none, statement by statement. A
 * migration that cannot have its locks within 200 ms, later 2 s, or that another's statement and it wait for, gives way and is tried again, so
 * that nobody else's statements pile up behind it. A database that is unavailable at first is tried for a minute. `say` is told what is waited
 * for. Throws where an applied file was changed since, for its effect can't be known, and where the connection is lost on the way: another
 * process may migrate then. Then tables with rows of accounts get the settings of `analyzedOften`.
 */
export async function migrate(
  url: string,
  schema: string,
  directories: URL[],
  say: (waiting: Waiting) => void = () => undefined,
): Promise<void> {
  const sql = await openWhenAvailable(url, schema, say);
  try {
    // Asked again and again instead of waited for: an index that is built concurrently waits for every statement under way, this one too.
    for (let tries = 1; ; tries++) {
      const [row] = await sql<[{ isAlone: boolean }]>`
        select pg_try_advisory_lock(hashtextextended(${`migrate ${schema}`}, 0)) as "isAlone"`;
      if (row.isAlone) break;
      say({ waitsFor: 'other process', tries });
      await sleep(retryMs);
    }
    await sql`create table if not exists migrations (name text primary key, checksum text not null, applied_at timestamptz not null default now())`;
    const applied = new Map((await sql`select name, checksum from migrations`).map((row) => [row.name, row.checksum]));
    for (const { name, file } of await migrationFiles(directories)) {
      const statements = await readFile(file, 'utf8');
      const checksum = createHash('sha256').update(statements).digest('hex');
      if (applied.get(name) === checksum) continue;
      if (applied.has(name))
        throw new Error(`Migration ${name} was changed after it had been applied to ${schema}; add a new one instead.`);
      const note = (tx: postgres.ISql) => tx`insert into migrations (name, checksum) values (${name}, ${checksum})`;
      const patiently: Patiently = (work) =>
        withShortLocks(sql, work, (tries) => say({ waitsFor: 'lock', migration: name, tries }));
      const indexes = indexChangesOf(statements);
      for (const index of indexes) await changeConcurrently(sql, index, patiently);
      if (indexes.length > 0) await note(sql);
      else
        await patiently(() =>
          sql.begin(async (tx) => {
            await tx.unsafe(statements).simple();
            await note(tx);
          }),
        );
    }
    await setAnalyzedOften(sql);
  } catch (error) {
    if (!isDatabaseUnavailable(error)) throw error;
    throw new Error(`The connection was lost while ${schema} was migrated; the next start goes on`, { cause: error });
  } finally {
    await sql.end();
  }
}

/** Does what needs a lock that others wait behind. */
type Patiently = (work: () => Promise<unknown>) => Promise<unknown>;

/** Does `work` under a lock timeout, as often as it gives way to others; `gave` is told how often it has. */
async function withShortLocks(sql: postgres.Sql, work: () => Promise<unknown>, gave: (tries: number) => void) {
  for (let tries = 1; ; tries++) {
    const { lockTimeoutMs, pauseMs } = tries <= shortAttempts.most ? shortAttempts : longAttempts;
    try {
      await sql`select set_config('lock_timeout', ${String(lockTimeoutMs)}, false)`;
      return await work();
    } catch (error) {
      if (!(error instanceof postgres.PostgresError && gaveWay.includes(error.code))) throw error;
      gave(tries);
      await sleep(pauseMs);
    }
  }
}

/** Reason why a schema waits, and the number of attempts so far. */
export interface Waiting {
  waitsFor: 'database' | 'other process' | 'lock';
  migration?: string;
  tries: number;
}

/** Opens a connection once the database responds. Throws why it does not after a minute, or at once where it is not unavailable. */
async function openWhenAvailable(url: string, schema: string, say: (waiting: Waiting) => void): Promise<postgres.Sql> {
  const deadlineMs = performance.now() + unavailableMs;
  for (let tries = 1; ; tries++) {
    const sql = postgres(url, {
      max: 1,
      // The lock of one process at a time is the connection's: with another one, two would migrate at once.
      max_lifetime: null,
      onclose: () => void sql.end({ timeout: 0 }),
      connect_timeout: 5,
      onnotice: () => undefined,
      // See `columnTypes`.
      fetch_types: false,
      types: columnTypes,
      connection: {
        application_name: `${schema} migrate`,
        search_path: `${schema}, public`,
        lock_timeout: longAttempts.lockTimeoutMs,
        // The role's own are for requests. As options: the driver leaves out a setting that is 0. With a node that vanishes the lock of one
        // process at a time ends within half a minute; in the middle of a statement PostgreSQL looks every ten seconds.
        options: [
          '-c statement_timeout=0 -c idle_in_transaction_session_timeout=0',
          '-c tcp_keepalives_idle=10 -c tcp_keepalives_interval=5 -c tcp_keepalives_count=4',
          '-c tcp_user_timeout=30000 -c client_connection_check_interval=10000',
        ].join(' '),
      },
    });
    try {
      await withTimeout(
        responseMs,
        sql`select`,
        () => new NotConnected('CONNECT_TIMEOUT', 'PostgreSQL does not respond'),
      );
      return sql;
    } catch (error) {
      await sql.end({ timeout: 0 });
      if (!isDatabaseUnavailable(error) || performance.now() > deadlineMs) throw error;
      say({ waitsFor: 'database', tries });
      await sleep(retryMs);
    }
  }
}

/** A statement that builds or drops an index beside its table's other work, and in no transaction: what it does, the index, and ` on …`. */
interface IndexChange {
  change: string;
  name: string;
  rest: string;
}

const indexChange =
  /^(?<change>create (?:unique )?index concurrently if not exists|drop index concurrently if exists) (?<name>\w+)(?<rest>[\s\S]*)$/;

/** Returns the indexes that a migration builds or drops concurrently, if it does nothing else. */
function indexChangesOf(migration: string): IndexChange[] {
  const statements = migration
    .replace(/--[^\n]*/g, '')
    .split(';')
    .map((statement) => statement.trim())
    .filter((statement) => statement !== '');
  const changes = statements.map((statement) => indexChange.exec(statement)?.groups as IndexChange | undefined);
  return changes.every((change) => change !== undefined) ? changes : [];
}

/**
 * Builds or drops an index; one that an attempt has left unfinished is built again. It waits for as long as others' transactions last: they
 * do not notice. Of a partitioned table PostgreSQL cannot build it concurrently at once: it builds the table's own, which is empty, and then
 * each partition's, which is attached to it. A partition that comes meanwhile has one already.
 */
async function changeConcurrently(sql: postgres.Sql, index: IndexChange, patiently: Patiently): Promise<void> {
  const { change, name, rest } = index;
  const table = /^ on (\w+) /.exec(rest)?.[1] ?? '';
  const partitioned = await sql`select from pg_partitioned_table where partrelid = to_regclass(nullif(${table}, ''))`;
  if (partitioned.length === 0) {
    await sql`set lock_timeout = 0`;
    const unfinished = await sql`select from pg_index where indexrelid = to_regclass(${name}) and not indisvalid`;
    if (unfinished.length > 0) await sql`drop index concurrently ${sql(name)}`;
    await sql.unsafe(`${change} ${name}${rest}`).simple();
    return;
  }
  const empty = `${change.replace(' concurrently', '')} ${name}${rest.replace(' on ', ' on only ')}`;
  await patiently(() => sql.unsafe(empty).simple());
  const partitions = await sql<{ partition: string }[]>`
    select inhrelid::regclass::text as partition from pg_inherits part where inhparent = ${table}::text::regclass and not exists (
      select from pg_index i join pg_inherits own on own.inhrelid = i.indexrelid
      where i.indrelid = part.inhrelid and own.inhparent = ${name}::text::regclass)
    order by 1`;
  for (const { partition } of partitions) {
    const own = `${partition}_${name.replace(`${table}_`, '')}`;
    await changeConcurrently(sql, { change, name: own, rest: rest.replace(table, () => partition) }, patiently);
    await patiently(() => sql.unsafe(`alter index ${name} attach partition ${own}`).simple());
  }
}

async function migrationFiles(directories: URL[]): Promise<{ name: string; file: URL }[]> {
  const files: { name: string; file: URL }[] = [];
  for (const directory of directories) {
    const names = (await readdir(directory)).filter((name) => name.endsWith('.sql')).sort();
    files.push(...names.map((name) => ({ name, file: new URL(name, directory) })));
  }
  return files;
}
