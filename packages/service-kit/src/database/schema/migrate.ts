import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import postgres from 'postgres';
import { withTimeout } from '../../values/with-timeout.ts';
import { columnTypes } from '../column-types.ts';
import { isDatabaseUnavailable, NotConnected } from '../database-errors.ts';
import { applyAnalyzedOften } from './analyzed-often.sql.ts';

/** The migrations of the tables that every process has. They run before the service's own. */
export const kitMigrations = new URL('../../../migrations/', import.meta.url);

/** SQLSTATEs after which a migration gives way to other transactions: lock timeout and deadlock. */
const lockConflicts = ['55P03', '40P01'];
/**
 * Lock timeouts of a migration's attempts, and pauses in which the statements queued behind it run. A backup or a long report may hold a lock for
 * hours. After 30 short attempts that all met a lock, attempts wait longer and become rare.
 */
const shortAttempts = { most: 30, lockTimeoutMs: 200, pauseMs: 1_000 };
const longAttempts = { lockTimeoutMs: 2_000, pauseMs: 15_000 };
/** Pause before the next attempt while another process migrates or the database is unavailable. */
const retryMs = 1_000;
/** Time after which a process gives up on an unavailable database and throws the error. */
const unavailableMs = 60_000;
/** Time in which a database must accept a connection and respond. The driver would reconnect forever to one that closes its connections. */
const responseMs = 5_000;

/**
 * Applies each `NNNN_name.sql` that the schema has not seen, in order. One process at a time migrates a schema.
 * - A file runs in one transaction. A file that only builds or drops indexes concurrently runs in none, statement by statement.
 * - A migration gives way after a lock timeout (200 ms, later 2 s) or a deadlock and is retried, so that no statements queue up behind it.
 * - A database that is unavailable at first is retried for a minute. `say` is called with the reason for each wait.
 * - Finally, tables with account rows get the settings of `analyzedOften`.
 * Throws if an applied file has changed, since its effect is unknown, or if the connection is lost, since another process may then migrate.
 */
export async function migrate(
  url: string,
  schema: string,
  directories: URL[],
  say: (waiting: Waiting) => void = () => undefined,
): Promise<void> {
  const sql = await openWhenAvailable(url, schema, say);
  try {
    // Polls for the lock instead of waiting. A concurrent index build would wait for the statement that waits here.
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
      const withRetries: WithRetries = (work) =>
        withShortLocks(sql, work, (tries) => say({ waitsFor: 'lock', migration: name, tries }));
      const indexes = indexChangesOf(statements);
      for (const index of indexes) await changeConcurrently(sql, index, withRetries);
      if (indexes.length > 0) await note(sql);
      else
        await withRetries(() =>
          sql.begin(async (tx) => {
            await tx.unsafe(statements).simple();
            await note(tx);
          }),
        );
    }
    await applyAnalyzedOften(sql);
  } catch (error) {
    if (!isDatabaseUnavailable(error)) throw error;
    throw new Error(`The connection was lost while migrating ${schema}; start again to continue`, { cause: error });
  } finally {
    await sql.end();
  }
}

/** Runs `work` that needs a lock which other statements queue behind, until it has succeeded. */
type WithRetries = (work: () => Promise<unknown>) => Promise<unknown>;

/** Runs `work` under a lock timeout until it succeeds. Each time it gives way, calls `gaveWay` with the number of attempts so far. */
async function withShortLocks(sql: postgres.Sql, work: () => Promise<unknown>, gaveWay: (tries: number) => void) {
  for (let tries = 1; ; tries++) {
    const { lockTimeoutMs, pauseMs } = tries <= shortAttempts.most ? shortAttempts : longAttempts;
    try {
      await sql`select set_config('lock_timeout', ${String(lockTimeoutMs)}, false)`;
      return await work();
    } catch (error) {
      if (!(error instanceof postgres.PostgresError && lockConflicts.includes(error.code))) throw error;
      gaveWay(tries);
      await sleep(pauseMs);
    }
  }
}

/** Why a schema waits, and the number of attempts so far. */
export interface Waiting {
  waitsFor: 'database' | 'other process' | 'lock';
  migration?: string;
  tries: number;
}

/** Opens a connection once the database responds. Throws after a minute, or at once if the error is not that the database is unavailable. */
async function openWhenAvailable(url: string, schema: string, say: (waiting: Waiting) => void): Promise<postgres.Sql> {
  const deadlineMs = performance.now() + unavailableMs;
  for (let tries = 1; ; tries++) {
    const sql = postgres(url, {
      max: 1,
      // This connection holds the lock for one process at a time. If the driver replaced it, two processes could migrate at once.
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
        // The role's own timeouts are for requests. They are overridden in `options`, since the driver omits a setting that is 0. If this host
        // vanishes, PostgreSQL frees the lock within 30 s; during a statement it checks the connection every 10 s.
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

/** A statement that builds or drops an index concurrently: the command, the index, and the rest from ` on …`. It runs in no transaction. */
interface IndexChange {
  change: string;
  name: string;
  rest: string;
}

const indexChange =
  /^(?<change>create (?:unique )?index concurrently if not exists|drop index concurrently if exists) (?<name>\w+)(?<rest>[\s\S]*)$/;

/** Returns the index changes of a migration that does nothing else; otherwise an empty array. */
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
 * Builds or drops an index, and rebuilds one that an attempt left invalid. Waits for as long as other transactions last, without blocking them.
 * PostgreSQL cannot build an index of a partitioned table concurrently. So this creates the table's own empty index, then builds each
 * partition's index and attaches it. PostgreSQL indexes a partition that is created meanwhile.
 */
async function changeConcurrently(sql: postgres.Sql, index: IndexChange, withRetries: WithRetries): Promise<void> {
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
  await withRetries(() => sql.unsafe(empty).simple());
  const partitions = await sql<{ partition: string }[]>`
    select inhrelid::regclass::text as partition from pg_inherits part where inhparent = ${table}::text::regclass and not exists (
      select from pg_index i join pg_inherits own on own.inhrelid = i.indexrelid
      where i.indrelid = part.inhrelid and own.inhparent = ${name}::text::regclass)
    order by 1`;
  for (const { partition } of partitions) {
    const own = `${partition}_${name.replace(`${table}_`, '')}`;
    await changeConcurrently(sql, { change, name: own, rest: rest.replace(table, () => partition) }, withRetries);
    await withRetries(() => sql.unsafe(`alter index ${name} attach partition ${own}`).simple());
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
