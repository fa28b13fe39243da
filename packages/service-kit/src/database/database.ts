import { type Attributes, SpanKind } from '@opentelemetry/api';
import postgres from 'postgres';
import { childSpan, errorType, markFailed } from '../telemetry/telemetry.ts';
import { columnTypes } from './column-types.ts';
import { NotConnected } from './database-errors.ts';
import { type DriverOptions, type Send, type Statement, statementsFor } from './pool/connection.ts';
import { Pool } from './pool/pool.ts';

interface TypeMap extends Record<string, unknown> {
  bigint: number;
}

/** The pool or a transaction. 64-bit integers are read as numbers; all values stay below 2^53. */
export type Sql = postgres.ISql<TypeMap>;

/** The pool of one process. `inTransaction` begins its transactions. */
export type Database = Sql & Pick<postgres.Sql<TypeMap>, 'options' | 'end'> & DatabaseParts;

/** JavaScript value of a json or jsonb column. */
export type JsonValue = postgres.JSONValue;

/** PostgreSQL's statement timeout for requests, consumers, and jobs that set no other. */
const defaultStatementMs = 5_000;
const lifetimeSeconds = 1_800;
/** Longest pause between two statements of a transaction. */
const idleTransactionMs = 15_000;

/** What a `Database` has beyond the driver's interface. */
interface DatabaseParts {
  readonly pool: Pool;
  readonly statementMs: number;
  /** The URL leads to a pooler in transaction mode: a session setting lasts for one transaction. */
  readonly isPooled: boolean;
  /** Returns the tagged template whose statements go to `send`. */
  statements(send: Send): Sql;
}

/**
 * Opens a bounded pool; its first statement opens the first connection. PostgreSQL cancels a statement after `statementMs` (default 5 s). The pool
 * gives a statement up 1 s later if its connection is silent or none is free. An idle transaction ends after 15 s. The pool replaces a connection
 * after 30 minutes, unless `isLasting`. Behind a pooler in transaction mode the role carries the session settings, and no statement is prepared.
 */
export function openDatabase(
  url: string,
  options: { pool: number; service: string; statementMs?: number; isPooled?: boolean; isLasting?: boolean },
): Database {
  const { service, isPooled = false, isLasting, pool: size, statementMs = defaultStatementMs } = options;
  // PostgreSQL cancels a statement within 1 s after its client closes the connection. A pooler then closes its own connection to the server.
  const settings = {
    ...sessionSettings(service),
    client_connection_check_interval: 1_000,
    statement_timeout: statementMs,
  };
  // Creates statements and never connects.
  const maker = postgres(url, {
    max: 1,
    onnotice: () => undefined,
    types: columnTypes,
    // See `columnTypes`.
    fetch_types: false,
    prepare: !isPooled,
    max_lifetime: isLasting ? null : lifetimeSeconds,
    connection: { application_name: service, ...(isPooled ? {} : settings) },
  } as postgres.Options<{ bigint: postgres.PostgresType<number> }>);
  const driver = maker.options as unknown as DriverOptions;
  const pool = new Pool({ driver, size, statementMs });
  const { database, host, port } = maker.options;
  const attributes = {
    'db.system.name': 'postgresql',
    'db.namespace': `${database}|${service}`,
    'server.address': host[0] ?? '',
    'server.port': Number(port[0]),
  };
  const statements = (send: Send) =>
    statementsFor<Sql>(maker as unknown as Sql, (statement) => {
      traceStatement(statement, attributes);
      send(statement);
    });
  return Object.assign(statements(pool.run), {
    options: { ...maker.options, max: size },
    end: ({ timeout = 5 }: { timeout?: number } = {}) => pool.end(timeout * 1_000),
    ...{ pool, statementMs, isPooled, statements },
  }) as unknown as Database;
}

/** Settings of every session. The role has them too, since poolers pass none on (deploy/local/provision.ts). */
function sessionSettings(service: string) {
  return {
    search_path: `${service}, public`,
    statement_timeout: defaultStatementMs,
    idle_in_transaction_session_timeout: idleTransactionMs,
    TimeZone: 'UTC',
    // Statements are short: JIT compilation takes longer than running one, and the planner chooses it based on an estimate.
    jit: 'off',
  };
}

/** Checks that a pooler's sessions have the settings. Throws an Error that lists the settings the role lacks. */
export async function checkSessionSettings(sql: Database, service: string): Promise<void> {
  const wanted = sessionSettings(service);
  const missing = await sql<{ name: string; setting: string }[]>`
    select wanted.* from unnest(${Object.keys(wanted)}::text[], ${Object.values(wanted).map(String)}::text[]) as wanted (name, setting)
      left join pg_settings s on lower(s.name) = lower(wanted.name) where s.setting is distinct from wanted.setting`;
  if (missing.length === 0) return;
  const listed = missing.map(({ name, setting }) => `${name} = ${setting}`).join('; ');
  throw new Error(
    `The database role of ${service} must have the settings ${listed}, which a pooler does not pass on: run provision again`,
  );
}

/** A statement that has not been sent yet. */
export type Unsent = postgres.PendingQuery<postgres.Row[]>;

/** Pipelined statements of a transaction: sent in order without waiting for results, which saves a round trip each. */
interface Pipelined<Result> {
  /** Sent between begin and the first statement of the work. */
  first?: (tx: Sql) => Unsent;
  /** Sent just before commit, which PostgreSQL turns into a rollback if one of them fails. */
  last?: (tx: Sql, result: Result) => readonly Unsent[];
}

/**
 * Runs `work` in one transaction (read committed). Commits when `work` resolves; rolls back when it throws or a statement fails, and sends no
 * statement after a failed one. Sends begin and the first statement without waiting for a response to begin. If no connection is free within
 * the statement timeout, throws NotConnected and does not run `work`.
 */
export async function inTransaction<Result>(
  sql: Database,
  work: (tx: Sql) => Promise<Result>,
  { first, last }: Pipelined<Result> = {},
): Promise<Result> {
  const { pool, statementMs, isPooled, statements } = sql;
  const connection = await pool.acquire(statementMs);
  let isOver = false;
  let fault: { error: unknown } | undefined;
  const send: Send = (statement) =>
    connection.run(statement, (error) => {
      if (error === undefined) pool.responded();
      else fault ??= { error };
    });
  const tx = statements((statement) => {
    if (!isOver && !fault) return send(statement);
    // Marks the rejection as handled if nobody awaits the statement.
    statement.whenSettled(() => undefined);
    // PostgreSQL would reject the statement after a fault. If begin itself failed, the statement would commit by itself.
    statement.reject(
      fault?.error ?? new NotConnected('CONNECTION_CLOSED', 'the transaction of this statement has ended'),
    );
  });
  const ending = statements((statement) => {
    isOver = true;
    send(statement);
  });
  const throwFault = () => {
    if (fault) throw fault.error;
  };
  let hasEnded = false;
  try {
    tx.unsafe('begin').execute();
    if (isPooled && statementMs !== defaultStatementMs)
      tx`select set_config('statement_timeout', ${String(statementMs)}, true)`.execute();
    first?.(tx).execute();
    const result = await work(tx);
    throwFault();
    for (const statement of last?.(tx, result) ?? []) statement.execute();
    // If the fault has closed the connection, commit rejects too; the fault is the cause.
    await ending.unsafe('commit').catch((error: unknown) => {
      throwFault();
      throw error;
    });
    hasEnded = true;
    throwFault();
    return result;
  } catch (error) {
    if (!connection.isGone && !hasEnded) await ending.unsafe('rollback').catch(() => undefined);
    // 25P02: PostgreSQL rejects a statement behind a failed one.
    throw fault && (error as { code?: unknown }).code === '25P02' ? fault.error : error;
  } finally {
    isOver = true;
    pool.release(connection);
  }
}

/** Maximum length of a statement in a span, in characters. */
const maxTextLength = 1_000;

/** Keyed by template literal: each place in the code has exactly one. */
const descriptions = new WeakMap<readonly string[], ReturnType<typeof describeStatement>>();

/**
 * Records a statement as a client span if a trace is active, so that polling records none. `database` has the attributes that all spans of the
 * pool share. A span never contains parameter values, which may be customer data.
 */
export function traceStatement(statement: Statement, database: Attributes): void {
  const described = () => {
    const description = descriptions.get(statement.template) ?? describeStatement(statement.template);
    descriptions.set(statement.template, description);
    return description;
  };
  const span = childSpan(
    () => described().name,
    () => ({ kind: SpanKind.CLIENT, attributes: { ...database, ...described().attributes } }),
  );
  if (!span) return;
  statement.whenSettled((error) => {
    if (error !== undefined) {
      const type = errorType(error);
      if (/^[0-9A-Z]{5}$/.test(type)) span.setAttribute('db.response.status_code', type);
      markFailed(span, type);
    }
    span.end();
  });
}

/** Matches a data change, but not the UPDATE of FOR UPDATE, FOR NO KEY UPDATE or DO UPDATE. */
const change = /(?<!\b(?:for|key|do) )\b(insert into|update|delete from|merge into) ([a-z_][\w.]*)/i;

/**
 * Describes the statement of a template literal by its first data change, or else by the table it reads. Values become question marks. The name
 * is the operation and, if it is a plain name, the table: "SELECT contacts".
 */
export function describeStatement(strings: readonly string[]) {
  const text = strings
    .join('?')
    .replace(/--[^\n]*/g, '')
    .replace(/\s+/g, ' ')
    .trim();
  const unquoted = text.replace(/'[^']*'/g, '');
  const [, verb, changed] = change.exec(unquoted) ?? [];
  const [, read] = /\bfrom ([a-z_][\w.]*)/i.exec(unquoted) ?? [];
  const first = verb ?? (/\bselect\b/i.test(unquoted) ? 'select' : (/^\w+/.exec(unquoted)?.[0] ?? 'sql'));
  const operation = first.split(' ')[0]!.toUpperCase();
  const table = changed ?? read;
  const attributes: Attributes = { 'db.query.text': text.slice(0, maxTextLength), 'db.operation.name': operation };
  if (table) attributes['db.collection.name'] = table;
  return { name: table ? `${operation} ${table}` : operation, attributes };
}
