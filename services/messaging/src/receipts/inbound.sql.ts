import type { Channel } from '@customer-platform/contracts/messaging';
import type { Sql } from '@customer-platform/service-kit';

/** What somebody wrote, not told of yet. */
export interface InboundRow {
  account_id: string;
  id: string;
  channel: Channel;
  sender: string;
  sender_name: string;
  body: string;
  at: Date;
  arrived_at: Date;
}

/**
 * Claims at most `limit` that are due, in the order in which they came: nobody else gets them before `leasedUntil`. Of `accounts` alone,
 * or of all but these.
 */
export async function claimInbound(
  sql: Sql,
  now: Date,
  leasedUntil: Date,
  { accounts, isOfOthers, limit }: { accounts: readonly string[]; isOfOthers: boolean; limit: number },
): Promise<InboundRow[]> {
  return await sql<InboundRow[]>`
    with due as (
      select account_id, id from inbound_messages
      where due_at <= ${now} and (account_id = any(${[...accounts]}::uuid[])) <> ${isOfOthers}
      order by due_at, id limit ${limit} for update skip locked
    ), claimed as (
      update inbound_messages m set due_at = ${leasedUntil} from due
      where m.account_id = due.account_id and m.id = due.id
      returning m.*
    )
    select account_id, id, channel, sender, sender_name, body, at, arrived_at from claimed order by id`;
}

/** Names the contact of what was claimed, null where it can have none; answers false where another process has done so. */
export async function endInbound(tx: Sql, { account_id, id }: InboundRow, contactId: string | null): Promise<boolean> {
  const rows = await tx`
    update inbound_messages set due_at = null, contact_id = ${contactId}
    where account_id = ${account_id} and id = ${id} and due_at is not null returning 1`;
  return rows.length === 1;
}

/** Has one that could not be told of wait. */
export async function postponeInbound(sql: Sql, { account_id, id }: InboundRow, dueAt: Date): Promise<void> {
  await sql`update inbound_messages set due_at = ${dueAt} where account_id = ${account_id} and id = ${id} and due_at is not null`;
}
