import type { Attributes } from '@opentelemetry/api';
import postgres from 'postgres';
import { telemetryEnabled } from '../telemetry/telemetry.ts';
import { DeadlineWatch, type Timed } from '../timing/deadline-watch.ts';
import { columnTypes } from './column-types.ts';
import { isDatabaseUnavailable } from './database-errors.ts';
import { watchOwn } from './pool/beginning-connections.ts';
import { endTransaction, type RunningStatement } from './pool/running-statement.ts';
import { padding } from './pool/start-up-message.ts';
import { type PoolUse, StatementTimeout, StatementWatch } from './pool/statement-watch.ts';
import { databaseAttributes, traceStatement } from './trace-statement.ts';
import { whenAvailable } from './when-available.ts';

interface TypeMap extends Record<string, unknown> {
  bigint: number;
}

/** The pool or a transaction. Integers of 64 bits come as numbers; ours stay below 2^53. */
export type Sql = postgres.ISql<TypeMap>;

/** The pool of one process. */
export type Database = postgres.Sql<TypeMap>;

/** JavaScript value of a json or jsonb column. */
export type JsonValue = postgres.JSONValue;

/** PostgreSQL's statement timeout for requests, consumers, and jobs that set no other. */
const usualStatementMs = 5_000;
/** Longest pause between two statements of a transaction. */
const idleTransactionMs = 15_000;

/** State of a pool, found by the pool and by the options that its statements share. */
interface Pool {
  statements: StatementWatch;
  waitingToBegin: DeadlineWatch<WaitingToBegin>;
  statementMs: number;
  /** Its connections are a pooler's: what is set lasts for a transaction. */
  isPooled: boolean;
  /** Its database, as spans of statements have it. */
  attributes: Attributes;
}
const pools = new WeakMap<object, Pool>();

/**
 * Opens a bounded pool. Nothing is dialled before the first statement. A statement is cut off by PostgreSQL after `statementMs` (default
 * 5 s) and by us a second later, where the connection is silent or none is free; an idle transaction ends after 15 s. Behind a pooler in
 * transaction mode the role has these settings of its own, and no statement is prepared. A pool whose statements take longer also ends
 * connections that are silent where one of `silentWith` is, another pool of the same server: it would wait for as long itself.
 */
export function openDatabase(
  url: string,
  options: { pool: number; service: string; statementMs?: number; isPooled?: boolean; silentWith?: Database },
): Database {
  const statementMs = options.statementMs ?? usualStatementMs;
  const { service, isPooled = false, silentWith } = options;
  const statements = new StatementWatch(statementMs, serverOf(url).ssl);
  const sql = postgres(url, {
    max: options.pool,
    connect_timeout: 5,
    // Idle processes keep one or two: the driver takes its connections in turn, so that each is used every few seconds for as long as it lives.
    idle_timeout: 20,
    max_lifetime: 1800,
    // A transaction's first statement must not be the one by which a connection is full: it would go on without its transaction.
    max_pipeline: Number.MAX_SAFE_INTEGER,
    backoff: (tries: number) => Math.min(0.05 * 2 ** tries, 1),
    onnotice: () => undefined,
    types: columnTypes,
    // See `columnTypes`. The driver's `reserve` never gets a new connection then; nothing uses it.
    fetch_types: false,
    prepare: !isPooled,
    connection: {
      application_name: service,
      ...(isPooled
        ? {}
        : { ...sessionSettings(service), ...ownSettings, statement_timeout: statementMs, options: padding }),
    },
    socket: statements.dial,
    // The sockets are encrypted already.
    ssl: false,
  } as postgres.Options<{ bigint: postgres.PostgresType<number> }>);
  const waitingToBegin = new DeadlineWatch<WaitingToBegin>(statementMs, 500, (waiting) => {
    waiting.isOver = true;
    waiting.giveUp(new StatementTimeout(statementMs));
  });
  const attributes = databaseAttributes(sql.options, options.service);
  watchStatements(sql, { statements, waitingToBegin, statementMs, isPooled, attributes });
  if (silentWith) {
    const { statements: others, statementMs: silentMs } = pools.get(silentWith)!;
    others.onSilence(() => statements.endSilent(silentMs));
  }
  return sql;
}

/** Returns what a URL says of its server, or servers, as the driver reads it. */
export function serverOf(url: string): Pick<postgres.ParsedOptions, 'host' | 'port' | 'path' | 'ssl'> {
  return postgres(url, { max: 1 }).options;
}

/** A statement whose connection we have closed is cut off within a second, instead of at its end. A pooler closes its own connection then. */
const ownSettings = { client_connection_check_interval: 1_000 };

/** Settings of every session; the role has the same ones for poolers, which pass none on (deploy/local/provision.ts). */
function sessionSettings(service: string) {
  return {
    search_path: `${service}, public`,
    statement_timeout: usualStatementMs,
    idle_in_transaction_session_timeout: idleTransactionMs,
    TimeZone: 'UTC',
    // Statements are short: compiling one takes longer than running it, and the planner decides it by what it guesses.
    jit: 'off',
  };
}

/**
 * Checks that a pooler's sessions have the settings. One that is unavailable at first is tried for a minute; `say` gets the number of
 * attempts so far and the last one's error. Throws an Error that says which the role lacks.
 */
export async function checkSessionSettings(
  sql: Database,
  service: string,
  say: (tries: number, error: unknown) => void,
): Promise<void> {
  const wanted = sessionSettings(service);
  const names = Object.keys(wanted).map((name) => name.toLowerCase());
  const rows = await whenAvailable(
    () => sql<{ name: string; setting: string }[]>`
      select lower(name) as name, setting from pg_settings where lower(name) in ${sql(names)}`,
    say,
  );
  const found = new Map(rows.map(({ name, setting }) => [name, setting]));
  const missing = Object.entries(wanted).filter(([name, value]) => found.get(name.toLowerCase()) !== String(value));
  if (missing.length === 0) return;
  const listed = missing.map(([name, value]) => `${name} = ${value}`).join('; ');
  throw new Error(
    `The role of ${service} lacks settings that a pooler cannot pass on (${listed}): run provision again`,
  );
}

/** Returns for how many milliseconds no statement of a pool has ended although some run; 0 where all is well. */
export function standsStillMs(sql: Database): number {
  return pools.get(sql)?.statements.standsStillMs ?? 0;
}

/** Returns the use of a pool's connections at this moment. */
export function poolUse(sql: Database): PoolUse {
  return { size: sql.options.max, ...pools.get(sql)!.statements.use(sql.options.max) };
}

/** Returns how many connections of a pool are open. */
export function openConnections(sql: Database): number {
  return pools.get(sql)!.statements.open;
}

/** A transaction that waits for a connection. */
interface WaitingToBegin extends Timed {
  giveUp(error: Error): void;
}

/**
 * Runs `work` in one transaction (read committed); commits when it resolves, rolls back when it throws. Throws a StatementTimeout where
 * no connection is free for as long as a statement may take; `work` is not run then.
 *
 * Where the connection breaks, postgres.js rejects `begin` by itself, but would also send a rollback into the closed socket
 * if `work` ended, and that write ends the process (its issues 1154 and 1208). So work that failed by a broken connection
 * never ends: nothing refers to it any more, and `begin` has its own rejection.
 */
export async function inTransaction<Result>(sql: Database, work: (tx: Sql) => Promise<Result>): Promise<Result> {
  const { promise: givenUp, reject } = Promise.withResolvers<never>();
  let whenBegun: typeof work | undefined = work;
  const giveUp = (error: Error) => {
    // The driver keeps its place in the queue: what the work holds on to is let go.
    whenBegun = undefined;
    reject(error);
  };
  const waiting: WaitingToBegin = { startedAtMs: performance.now(), isOver: false, giveUp };
  const pool = pools.get(sql)!;
  /** A statement of the transaction, never sent, once that has begun. */
  let probe: RunningStatement | undefined;
  /** Why the work failed: where the connection is gone, so that there is nothing to roll back, the driver says that instead. */
  let fault: { error: unknown } | undefined;
  pool.waitingToBegin.watch(waiting);
  const begun = sql.begin((tx) => {
    // Its turn came after it was given up: there is nobody to work for.
    if (!whenBegun) throw new StatementTimeout(pool.statementMs);
    waiting.isOver = true;
    probe = tx`select` as unknown as RunningStatement;
    pool.statements.transactions++;
    const work = pool.isPooled && pool.statementMs !== usualStatementMs ? patiently(whenBegun, pool) : whenBegun;
    return work(tx).catch((error: unknown) => {
      if (isConnectionBroken(error)) return new Promise<never>(() => undefined);
      fault = { error };
      throw error;
    });
  });
  try {
    return (await Promise.race([begun, givenUp])) as Result;
  } catch (error) {
    throw fault && isDatabaseUnavailable(error) ? fault.error : error;
  } finally {
    if (probe) {
      pool.statements.transactions--;
      endTransaction(probe);
    }
  }
}

/** Has a transaction's statements take as long as the pool lets them: its sessions have the usual timeout. */
function patiently<Result>(work: (tx: Sql) => Promise<Result>, { statementMs }: Pool): (tx: Sql) => Promise<Result> {
  return async (tx) => {
    await tx`select set_config('statement_timeout', ${String(statementMs)}, true)`;
    return await work(tx);
  };
}

/**
 * Returns whether a statement failed since its connection broke; the driver then rejects everything on that connection. What a server merely refuses, such as
 * a write while it only reads, breaks none.
 */
function isConnectionBroken(error: unknown): boolean {
  const isRefusal = error instanceof postgres.PostgresError && error.severity === 'ERROR';
  return isDatabaseUnavailable(error) && !isRefusal && typeof error === 'object' && error !== null && 'query' in error;
}

/**
 * Has every statement watched, and gives it a client span where telemetry is on. postgres.js has no hook for this, so its query
 * prototype is wrapped once a process; `canceller` tells whose pool a statement is of.
 */
function watchStatements(sql: Database, pool: Pool): void {
  const probe = sql`select 1` as unknown as RunningStatement;
  pools.set(sql, pool).set(probe.canceller as object, pool);
  pool.statements.knowPool(probe.handler);
  const prototype = Object.getPrototypeOf(probe) as RunningStatement & { isWatched?: true };
  if (prototype.isWatched) return;
  prototype.isWatched = true;
  // Set by the driver when it is about to send a statement again, and by nothing else.
  Object.defineProperty(prototype, 'retried', {
    get: () => undefined,
    set(this: RunningStatement, error: unknown) {
      const known = pools.get(this.canceller as object);
      if (known) known.statements.sendAgain(this, error);
    },
  });
  const { handle } = prototype;
  prototype.handle = function watched(this: RunningStatement) {
    if (this.executed) return handle.call(this);
    if (!this.canceller) {
      watchOwn(this);
      return handle.call(this);
    }
    const known = pools.get(this.canceller as object);
    if (telemetryEnabled()) traceStatement(this, known?.attributes ?? {});
    // After the span, which ends with the statement's last attempt.
    known?.statements.watch(this);
    return handle.call(this);
  };
}
