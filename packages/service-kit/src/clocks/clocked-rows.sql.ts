import { randomUUID } from 'node:crypto';
import type { Sql } from '../database/database.ts';
import { isOfAccount } from '../database/of-account.sql.ts';
import { type Fragment, joined, ofRows, type QueueRows } from '../database/queue-rows.ts';

/** Rows of a module with times at which account clocks stop. */
export interface ClockedRows extends Omit<QueueRows, 'due'> {
  /** The column with the time; null if a row is due as soon as it exists. */
  due: string | null;
  /** Condition of a row that a process is working on. */
  running?(sql: Sql, now: Date): Fragment;
  /** Delay in milliseconds after their due time. Such rows, left by processes that died, hold no clock up. */
  afterMs?: number;
  /** Selects one row with `due` and `running` (booleans) and `next` (a time), instead of the default query. */
  look?(sql: Sql, at: Look): Fragment;
}

/** A look at the rows of an account. */
export interface Look {
  account: string;
  /** The time by the account's clock. */
  now: Date;
  /** Paused endpoints, whose rows hold no clock up. */
  endpoints: readonly string[];
}

const isDue = (sql: Sql, { due, afterMs = 0 }: ClockedRows, now: Fragment) =>
  due === null ? sql`true` : sql`t.${sql(due)} <= ${now} - ${afterMs} * interval '1 ms'`;

/** Looks at rows of accounts in one query: whether some are due or running, and when the next is due. */
export async function lookAt(sql: Sql, looks: readonly { name: string; rows: ClockedRows; at: Look }[]) {
  if (looks.length === 0) return [];
  const selects = looks.map(({ name, rows, at }) => {
    const found = rows.look ? rows.look(sql, at) : selectFound(sql, rows, at);
    return sql`select ${name}::text as name, looked.* from (${found}) as looked`;
  });
  type Found = { name: string; due: boolean; running: boolean; next: Date | null };
  return await sql<Found[]>`${joined(sql, selects, sql` union all `)}`;
}

function selectFound(sql: Sql, rows: ClockedRows, { account, now, endpoints }: Look): Fragment {
  const { name, due, endpoint, running } = rows;
  const isShown = endpoint ? sql`and ${sql(endpoint)} <> all(${[...endpoints]}::uuid[])` : sql``;
  const isMine = sql`t.account_id = ${account}`;
  const mine = sql`from ${sql(name)} as t where ${isMine} ${ofRows(sql, rows)} ${isShown}`;
  const isRunning = running ? sql`(${running(sql, now)})` : sql`false`;
  const next =
    due === null
      ? sql`null::timestamptz`
      : sql`(select t.${sql(due)} ${mine} and t.${sql(due)} > ${now} and t.${sql(due)} <> 'infinity' and not coalesce(${isRunning}, false)
          order by t.${sql(due)} limit 1)`;
  return sql`
    select exists (select ${mine} and ${isDue(sql, rows, sql`${now}::timestamptz`)}) as due,
      exists (select from ${sql(name)} as t where ${isMine} and ${isRunning}) as running, ${next} as next`;
}

/** Maximum number of accounts with due rows that one look finds per table. */
const maxFound = 200;

/**
 * Returns the accounts with sandbox clocks that have due rows at the real time `now`, by work. The index on account and due column finds each.
 * The search starts at a random account and wraps around. `accounts` limits it to these; undefined searches all.
 */
export async function accountsDue<Work extends { rows: ClockedRows }>(
  sql: Sql,
  works: readonly Work[],
  now: Date,
  accounts: readonly string[] | undefined,
): Promise<Map<Work, { account_id: string }[]>> {
  if (works.length === 0 || accounts?.length === 0) return new Map();
  const from = randomUUID();
  const then = sql`(${now}::timestamptz + c.ahead_ms * interval '1 ms')`;
  const named = accounts ? sql`where c.account_id = any(${[...accounts]}::uuid[])` : sql``;
  const selects = works.map(
    ({ rows }, work) => sql`(
      select ${work}::int as work, c.account_id from sandbox_clocks c cross join lateral (
        select from ${sql(rows.name)} as t
        where ${isOfAccount(sql, 't.account_id', 'c.account_id')} and ${isDue(sql, rows, then)} ${ofRows(sql, rows)} limit 1) as due
      ${named} order by c.account_id < ${from}, c.account_id limit ${maxFound})`,
  );
  const found = await sql<{ work: number; account_id: string }[]>`${joined(sql, selects, sql` union all `)}`;
  return Map.groupBy(found, ({ work }) => works[work]!);
}

/**
 * Returns the sequence of an account's newest event in this service, and the queues where events wait. These are the outbox and the consumers that
 * failed to take an event. Leaves out events that a pause holds. The sequence grows with each event.
 */
export async function selectEvents(sql: Sql, accountId: string) {
  const [row] = await sql<[{ mark: number; queues: string[] }]>`
    select greatest(waiting.mark, (select max(sequence) from published where account_id = ${accountId}), 0)::float8 as mark,
      array(select distinct queue from failed_events where account_id = ${accountId} and dead_at is null and due_at <> 'infinity')
        || case when waiting.mark is null then array[]::text[] else array['outbox'] end as queues
    from (select max(sequence) as mark from outbox where account_id = ${accountId}) as waiting`;
  return row;
}
