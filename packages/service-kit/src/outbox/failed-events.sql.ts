import type { MessageContent, ReceivedMessage } from '../bus/consume-loop.ts';
import type { Database, Sql } from '../database/database.ts';
import { claimed, type DueTable } from '../due-work/due-rows.ts';
import type { Claim, DueRow } from '../due-work/due-work.ts';
import { noAccount } from '../values/no-account.ts';

/** Events that wait for their next attempt, as a queue. */
export const waitingEvents: DueTable = {
  name: 'failed_events',
  key: { account_id: 'uuid', id: 'uuid' },
  due: 'due_at',
  attempts: 'tries',
  error: 'last_error',
  where: (sql) => sql`dead_at is null`,
};

export interface FailedEventRow extends DueRow, MessageContent {
  id: string;
  queue: string;
  reason: string;
  first_at: Date;
}

/** A failed attempt: its reason, and when the next one is due; null if it was the last. */
export interface FailedAttempt {
  reason: string;
  tries: number;
  dueAt: Date | null;
}

/** A failed attempt. With due time `infinity`, the event waits until operators end the pause of its queue for its account. */
export type HeldAttempt = Omit<FailedAttempt, 'dueAt'> & { dueAt: Date | 'infinity' | null };

/** Writes messages that a consumer could not take, in one statement. Messages without a next attempt are dead. */
export async function insertFailedEvents(
  tx: Sql,
  queue: string,
  failures: readonly (HeldAttempt & { message: ReceivedMessage })[],
  now: Date,
): Promise<void> {
  const messages = failures.map(({ message }) => message);
  await tx`
    insert into failed_events (account_id, queue, subject, kind, headers, bytes, reason, last_error, tries, first_at, due_at, dead_at)
    select account_id, ${queue}, subject, kind, headers::jsonb, decode(hex, 'hex'), reason, reason, tries, ${now}, due_at,
      case when due_at is null then ${now}::timestamptz end
    from unnest(
      ${messages.map(({ event }) => event?.account ?? noAccount)}::uuid[],
      ${messages.map(({ subject }) => subject)}::text[],
      ${messages.map(({ event }) => event?.type ?? null)}::text[],
      ${messages.map(({ headers }) => JSON.stringify(headers))}::text[],
      ${messages.map(({ bytes }) => Buffer.from(bytes).toString('hex'))}::text[],
      ${failures.map(({ reason }) => reason)}::text[], ${failures.map(({ tries }) => tries)}::int[],
      ${failures.map(storedDueAt)}::text[]::timestamptz[]
    ) with ordinality as failed (account_id, subject, kind, headers, hex, reason, tries, due_at, position)
    order by position`;
}

const storedDueAt = ({ dueAt }: HeldAttempt) => (dueAt instanceof Date ? dueAt.toISOString() : dueAt);

/** Claims the rows of `due` and counts the attempt. An event that crashes the process thus runs out of attempts too. */
export async function claimFailedEvents(sql: Database, { due, leasedUntil }: Claim): Promise<FailedEventRow[]> {
  return await sql<FailedEventRow[]>`
    update failed_events f set ${claimed(sql, waitingEvents, leasedUntil)}
    from (${due}) as due where f.account_id = due.account_id and f.id = due.id
    returning f.account_id, f.id, f.queue, f.subject, f.headers, f.bytes, f.reason, f.tries as attempts, f.first_at, null as trace`;
}

export async function deleteFailedEvent(tx: Sql, { account_id, id }: FailedEventRow): Promise<void> {
  await tx`delete from failed_events where account_id = ${account_id} and id = ${id}`;
}

/** Records failed attempts; an event without a next one is dead. Ignores an event that another process has taken since. */
export async function recordFailedAttempts(
  sql: Sql,
  failures: readonly (HeldAttempt & { row: FailedEventRow })[],
  now: Date,
): Promise<void> {
  await sql`
    update failed_events f set reason = failed.reason, last_error = failed.reason, tries = failed.tries, due_at = failed.due_at,
      dead_at = case when failed.due_at is null then ${now}::timestamptz end
    from unnest(
      ${failures.map(({ row }) => row.account_id)}::uuid[], ${failures.map(({ row }) => row.id)}::uuid[],
      ${failures.map(({ reason }) => reason)}::text[], ${failures.map(({ tries }) => tries)}::int[],
      ${failures.map(storedDueAt)}::text[]::timestamptz[], ${failures.map(({ row }) => row.attempts)}::int[]
    ) as failed (account_id, id, reason, tries, due_at, claimed)
    where f.account_id = failed.account_id and f.id = failed.id and f.tries = failed.claimed and f.dead_at is null`;
}
