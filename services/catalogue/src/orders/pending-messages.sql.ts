import { contactColumns, joinContact } from '@customer-platform/contact-copy';
import type { Order } from '@customer-platform/contracts/catalogue';
import {
  activeTrace,
  type Claim,
  claimed,
  type DueRow,
  type DueTable,
  type JsonValue,
  type Sql,
} from '@customer-platform/service-kit';

export const pendingMessages: DueTable = {
  name: 'pending_messages',
  key: { account_id: 'uuid', id: 'uuid' },
  due: 'due_at',
  attempts: 'tries',
  error: 'last_error',
};

/** A message to hand over to messaging, for the contact of an order (the surviving contact if merged). */
export interface PendingMessage extends DueRow {
  id: string;
  contact_id: string;
  channel: Order['channel'];
  number: number;
  body: string;
}

/** Queues a message to the contact of an order. The message is sent after this transaction commits. */
export async function insertPendingMessage(
  tx: Sql,
  accountId: string,
  { orderId, body }: { orderId: string; body: string },
  now: Date,
) {
  const trace = activeTrace();
  await tx`
    insert into pending_messages (account_id, order_id, body, trace, due_at)
    values (${accountId}, ${orderId}, ${body}, ${trace && tx.json(trace as JsonValue)}, ${now})`;
}

/** Claims due messages. */
export async function claimPendingMessages(sql: Sql, { due, leasedUntil }: Claim) {
  return await sql<PendingMessage[]>`
    with due as (${due}), claimed as (
      update pending_messages p set ${claimed(sql, pendingMessages, leasedUntil)}
      from due where p.account_id = due.account_id and p.id = due.id
      returning p.*
    )
    select p.account_id, p.id, p.body, p.trace, p.tries as attempts, o.channel, o.number, ${contactColumns(sql)}
    from claimed p join orders o on o.account_id = p.account_id and o.id = p.order_id ${joinContact(sql, 'o')}`;
}

/** Deletes messages that messaging accepted. */
export async function deletePendingMessages(sql: Sql, taken: readonly PendingMessage[]) {
  await sql`
    delete from pending_messages where (account_id, id) in (
      select * from unnest(${taken.map((message) => message.account_id)}::uuid[], ${taken.map((message) => message.id)}::uuid[]))`;
}
