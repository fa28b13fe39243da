import type { Channel } from '@customer-platform/contracts/messaging';
import { type Claim, claimed, type DueRow, type DueTable, type Sql } from '@customer-platform/service-kit';

export const inboundMessages: DueTable = {
  name: 'inbound_messages',
  key: { account_id: 'uuid', id: 'uuid' },
  due: 'due_at',
  attempts: 'tries',
  error: 'last_error',
};

/** Inbound message to announce. */
export interface InboundRow extends DueRow {
  id: string;
  channel: Channel;
  sender: string;
  sender_name: string;
  body: string;
  at: Date;
}

/** Milliseconds until a message is looked at again that comes behind one which is just being announced. */
const behindMs = 250;

/**
 * Claims inbound messages to announce. One comes behind what the same sender wrote before, whichever process announces that: while it waits for its
 * next try, so does this one.
 */
export async function claimInbound(sql: Sql, { due, now, leasedUntil }: Claim): Promise<InboundRow[]> {
  const soon = new Date(now.getTime() + behindMs);
  return await sql<InboundRow[]>`
    with due as (${due}), placed as (
      select m.account_id, m.id, (
        select max(case when e.last_error is null then ${soon}::timestamptz else greatest(e.due_at, ${soon}) end) from inbound_messages e
        where e.account_id = m.account_id and e.channel = m.channel and e.sender = m.sender and e.due_at is not null and e.id < m.id
      ) as behind_until
      from due join inbound_messages m using (account_id, id)
    ), behind as (
      update inbound_messages m set due_at = placed.behind_until from placed
      where m.account_id = placed.account_id and m.id = placed.id and placed.behind_until is not null
    ), claimed as (
      update inbound_messages m set ${claimed(sql, inboundMessages, leasedUntil)} from placed
      where m.account_id = placed.account_id and m.id = placed.id and placed.behind_until is null
      returning m.*
    )
    select account_id, id, channel, sender, sender_name, body, at, tries as attempts, null as trace from claimed order by id`;
}

/** Sets the contacts of inbound messages, null if there can be none, and returns the ids of those that no other process had announced. */
export async function endInbound(
  tx: Sql,
  rows: readonly Pick<InboundRow, 'account_id' | 'id'>[],
  contactIds: readonly (string | null)[],
): Promise<Set<string>> {
  const ended = await tx<{ id: string }[]>`
    update inbound_messages m set due_at = null, contact_id = found.contact_id
    from unnest(${rows.map(({ account_id }) => account_id)}::uuid[], ${rows.map(({ id }) => id)}::uuid[], ${[...contactIds]}::uuid[])
      as found (account_id, id, contact_id)
    where m.account_id = found.account_id and m.id = found.id and m.due_at is not null returning m.id`;
  return new Set(ended.map(({ id }) => id));
}
