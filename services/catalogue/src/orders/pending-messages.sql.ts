import { contactColumns, joinContact } from '@customer-platform/contact-copy';
import type { Order } from '@customer-platform/contracts/catalogue';
import { activeTrace, type JsonValue, type Sql, type TraceHeaders } from '@customer-platform/service-kit';

/** A message to the contact of an order (of a merged one to the survivor) that messaging is to take. */
export interface PendingMessage {
  account_id: string;
  id: string;
  contact_id: string;
  channel: Order['channel'];
  number: number;
  body: string;
  /** Of the request that it comes from. */
  trace: TraceHeaders | null;
  /** How often messaging was asked in vain. */
  tries: number;
}

/** Has the contact of an order told `body`, once this transaction commits. */
export async function insertPendingMessage(
  tx: Sql,
  accountId: string,
  orderId: string,
  body: string,
  now: Date,
): Promise<void> {
  const trace = activeTrace();
  await tx`
    insert into pending_messages (account_id, order_id, body, trace, due_at)
    values (${accountId}, ${orderId}, ${body}, ${trace && tx.json(trace as JsonValue)}, ${now})`;
}

/** Claims at most `limit` messages that are due, earliest first: nobody else gets them before `leasedUntil`. */
export async function claimPendingMessages(
  sql: Sql,
  now: Date,
  leasedUntil: Date,
  limit: number,
): Promise<PendingMessage[]> {
  return await sql<PendingMessage[]>`
    with due as (
      select account_id, id from pending_messages where due_at <= ${now}
      order by due_at limit ${limit} for update skip locked
    ), claimed as (
      update pending_messages p set due_at = ${leasedUntil}
      from due where p.account_id = due.account_id and p.id = due.id
      returning p.*
    )
    select p.account_id, p.id, p.body, p.trace, p.tries, o.channel, o.number, ${contactColumns(sql)}
    from claimed p join orders o on o.account_id = p.account_id and o.id = p.order_id ${joinContact(sql, 'o')}`;
}

/** When a message that was not taken is asked for again. */
export interface Postponed {
  message: PendingMessage;
  dueAt: Date;
}

/**
 * Forgets the messages that were taken, and has the others wait, in one statement. Nothing of the others changes that are no
 * longer claimed until `leasedUntil`: somebody else has them by now.
 */
export async function settlePendingMessages(
  sql: Sql,
  leasedUntil: Date,
  taken: readonly PendingMessage[],
  postponed: readonly Postponed[],
): Promise<void> {
  const waiting = postponed.map(({ message }) => message);
  await sql`
    with forgotten as (
      delete from pending_messages where (account_id, id) in (
        select * from unnest(${taken.map((message) => message.account_id)}::uuid[], ${taken.map((message) => message.id)}::uuid[]))
    )
    update pending_messages p set tries = p.tries + 1, due_at = later.due_at
    from unnest(${waiting.map((message) => message.account_id)}::uuid[], ${waiting.map((message) => message.id)}::uuid[],
      ${postponed.map(({ dueAt }) => dueAt.toISOString())}::text[]::timestamptz[]) as later (account_id, id, due_at)
    where p.account_id = later.account_id and p.id = later.id and p.due_at = ${leasedUntil}`;
}

/** How many messages, of all accounts, messaging has not taken yet. */
export async function countPendingMessages(sql: Sql): Promise<number> {
  const [row] = await sql<{ count: number }[]>`select count(*) as count from pending_messages`;
  return row!.count;
}
