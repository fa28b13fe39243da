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

/** The pool or a transaction. Integers of 64 bits come as numbers; ours stay below 2^53. */
export type Sql = postgres.ISql<TypeMap>;

/** The pool of one process. Transactions are begun by `inTransaction`. */
export type Database = Sql & Pick<postgres.Sql<TypeMap>, 'options' | 'end'> & Opened;

/** JavaScript value of a json or jsonb column. */
export type JsonValue = postgres.JSONValue;

/** PostgreSQL's statement timeout for requests, consumers, and jobs that set no other. */
const usualStatementMs = 5_000;
const lifetimeSeconds = 1_800;
/** Longest pause between two statements of a transaction. */
const idleTransactionMs = 15_000;

/** Parts of a `Database`. */
interface Opened {
  readonly pool: Pool;
  readonly statementMs: number;
  /** Its connections are a pooler's: what is set lasts for a transaction. */
  readonly isPooled: boolean;
  /** Returns the tagged template whose statements go to `send`. */
  statements(send: Send): Sql;
}

/**
 * Opens a bounded pool. Nothing is dialled before the first statement. A statement is cut off by PostgreSQL after `statementMs` (default
 * 5 s) and by us a second later, where the connection is silent or none is free; an idle transaction ends after 15 s. Behind a pooler in
 * transaction mode the role has these settings of its own, and no statement is prepared. A connection is replaced after half an hour, unless
 * `isLasting`.
 */
export function openDatabase(
  url: string,
  options: { pool: number; service: string; statementMs?: number; isPooled?: boolean; isLasting?: boolean },
): Database {
  const { service, isPooled = false, isLasting, pool: size, statementMs = usualStatementMs } = options;
  // A statement whose connection we have closed is cut off within a second, instead of at its end. A pooler closes its own connection then.
  const settings = {
    ...sessionSettings(service),
    client_connection_check_interval: 1_000,
    statement_timeout: statementMs,
  };
  // Makes statements, and never connects.
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

/** Checks that a pooler's sessions have the settings. Throws an Error that says which the role lacks. */
export async function checkSessionSettings(sql: Database, service: string): Promise<void> {
  const wanted = sessionSettings(service);
  const missing = await sql<{ name: string; setting: string }[]>`
    select wanted.* from unnest(${Object.keys(wanted)}::text[], ${Object.values(wanted).map(String)}::text[]) as wanted (name, setting)
      left join pg_settings s on lower(s.name) = lower(wanted.name) where s.setting is distinct from wanted.setting`;
  if (missing.length === 0) return;
  const listed = missing.map(({ name, setting }) => `${name} = ${setting}`).join('; ');
  throw new Error(
    `The role of ${service} lacks settings that a pooler cannot pass on (${listed}): run provision again`,
  );
}

/** A statement that has not been sent yet. */
export type Unsent = postgres.PendingQuery<postgres.Row[]>;

/** Statements of a transaction that are sent without waiting for a result, in their order: a round trip less each. */
interface Unawaited<Result> {
  /** Between begin and the statements of the work. */
  first?: (tx: Sql) => Unsent;
  /** In front of commit, which PostgreSQL makes a rollback if one of them fails. */
  last?: (tx: Sql, result: Result) => readonly Unsent[];
}

/**
 * Runs `work` in one transaction (read committed). Commits when `work` resolves; rolls back when it throws or a statement failed, after which no
 * further statement is sent. The first statement is sent together with begin, before PostgreSQL has answered begin. Throws NotConnected where no connection is free for as long as a statement may take; `work` is not run then.
 */
export async function inTransaction<Result>(
  sql: Database,
  work: (tx: Sql) => Promise<Result>,
  { first, last }: Unawaited<Result> = {},
): Promise<Result> {
  const { pool, statementMs, isPooled, statements } = sql;
  const connection = await pool.take(statementMs);
  let isOver = false;
  let fault: { error: unknown } | undefined;
  const send: Send = (statement) =>
    connection.run(statement, (error) => {
      if (error === undefined) pool.responded();
      else fault ??= { error };
    });
  const tx = statements((statement) => {
    if (!isOver && !fault) return send(statement);
    // Nobody may await it.
    statement.whenSettled(() => undefined);
    // After a fault PostgreSQL would refuse it too, unless begin failed: then the statement would commit by itself.
    statement.reject(
      fault?.error ?? new NotConnected('CONNECTION_CLOSED', 'the transaction of this statement is over'),
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
    if (isPooled && statementMs !== usualStatementMs)
      tx`select set_config('statement_timeout', ${String(statementMs)}, true)`.execute();
    first?.(tx).execute();
    const result = await work(tx);
    throwFault();
    for (const statement of last?.(tx, result) ?? []) statement.execute();
    // The connection may have ended by the fault.
    await ending.unsafe('commit').catch((error: unknown) => {
      throwFault();
      throw error;
    });
    hasEnded = true;
    throwFault();
    return result;
  } catch (error) {
    if (!connection.isGone && !hasEnded) await ending.unsafe('rollback').catch(() => undefined);
    // 25P02: a statement behind the one that failed.
    throw fault && (error as { code?: unknown }).code === '25P02' ? fault.error : error;
  } finally {
    isOver = true;
    pool.giveBack(connection);
  }
}

/** Longest text of a statement in a span. */
const maxTextLength = 1_000;

/** By the template literal, of which there is one for each place in the code. */
const descriptions = new WeakMap<readonly string[], ReturnType<typeof describeStatement>>();

/**
 * Gives a statement of a trace a client span; none where there is no trace, so that polls make none. `database` has what the spans of its pool have in common.
 * Values are no part of it: they may be anybody's.
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

/** What changes a table; not the UPDATE of FOR UPDATE, FOR NO KEY UPDATE and DO UPDATE. */
const change = /(?<!\b(?:for|key|do) )\b(insert into|update|delete from|merge into) ([a-z_][\w.]*)/i;

/**
 * Describes the statement of a template literal, by the first change in it or else by what it reads; its values are question marks. Its name is the
 * operation and, where it is plain, the table: "SELECT contacts".
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
