import type { MessageContent, ReceivedMessage } from './consume-loop.ts';
import type { Sql } from './database.ts';

/** The account of what is no event. */
export const noAccount = '00000000-0000-0000-0000-000000000000';

export interface FailedEventRow extends MessageContent {
  account_id: string;
  id: string;
  queue: string;
  reason: string;
  tries: number;
  first_at: Date;
}

/** A failed attempt: its reason, and when the next one is due, null where it was the last. */
export interface FailedTry {
  reason: string;
  tries: number;
  dueAt: Date | null;
}

/** Writes messages that a consumer could not take, in one statement; those without a next try are dead. */
export async function insertFailedEvents(
  tx: Sql,
  queue: string,
  failures: readonly (FailedTry & { message: ReceivedMessage })[],
  now: Date,
): Promise<void> {
  const messages = failures.map(({ message }) => message);
  await tx`
    insert into failed_events (account_id, queue, subject, kind, headers, bytes, reason, tries, first_at, due_at, dead_at)
    select account_id, ${queue}, subject, kind, headers::jsonb, decode(hex, 'hex'), reason, tries, ${now}, due_at,
      case when due_at is null then ${now}::timestamptz end
    from unnest(
      ${messages.map(({ event }) => event?.account ?? noAccount)}::uuid[],
      ${messages.map(({ subject }) => storable(subject))}::text[],
      ${messages.map(({ event }) => (event ? storable(event.type) : null))}::text[],
      ${messages.map(({ headers }) => JSON.stringify(storableHeaders(headers)))}::text[],
      ${messages.map(({ bytes }) => Buffer.from(bytes).toString('hex'))}::text[],
      ${failures.map(({ reason }) => reason)}::text[], ${failures.map(({ tries }) => tries)}::int[],
      ${failures.map(({ dueAt }) => dueAt?.toISOString() ?? null)}::text[]::timestamptz[]
    ) with ordinality as failed (account_id, subject, kind, headers, hex, reason, tries, due_at, position)
    order by position`;
}

/** Returns a text without what PostgreSQL cannot store of it. */
export function storable(text: string): string {
  return text.replaceAll('\0', '').toWellFormed();
}

function storableHeaders(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [storable(name), storable(value)]));
}

/**
 * Takes the longest due failed event until `leaseUntil`, and counts the try: one that ends the process ends with its last try too.
 * Undefined where none is due.
 */
export async function claimFailedEvent(sql: Sql, now: Date, leaseUntil: Date): Promise<FailedEventRow | undefined> {
  const [row] = await sql<FailedEventRow[]>`
    update failed_events set tries = tries + 1, due_at = ${leaseUntil}
    where (account_id, id) = (
      select account_id, id from failed_events
      where dead_at is null and due_at <= ${now} order by due_at limit 1 for update skip locked)
    returning account_id, id, queue, subject, headers, bytes, reason, tries, first_at`;
  return row;
}

export async function deleteFailedEvent(tx: Sql, { account_id, id }: FailedEventRow): Promise<void> {
  await tx`delete from failed_events where account_id = ${account_id} and id = ${id}`;
}

/** Notes a try that failed; where it was the last, the event is dead. */
export async function noteFailedTry(
  sql: Sql,
  { account_id, id }: FailedEventRow,
  { reason, tries, dueAt }: FailedTry,
  now: Date,
): Promise<void> {
  await sql`
    update failed_events set reason = ${reason}, tries = ${tries}, due_at = ${dueAt},
      dead_at = case when ${dueAt}::timestamptz is null then ${now}::timestamptz end
    where account_id = ${account_id} and id = ${id}`;
}

/** Deletes what has been dead since before `before`, at most `limit`; returns how many. */
export async function forgetDeadEvents(tx: Sql, before: Date, limit: number): Promise<number> {
  const result = await tx`
    delete from failed_events where (account_id, id) in (
      select account_id, id from failed_events where dead_at < ${before} order by dead_at limit ${limit})`;
  return result.count;
}
