import type { Channel, InboundMedia, InboundType } from '@customer-platform/contracts/messaging';
import { type Claim, claimed, type DueRow, type DueTable, type Sql } from '@customer-platform/service-kit';
import { uuidForm } from './receipts.sql.ts';

export const inboundMessages: DueTable = {
  name: 'inbound_messages',
  key: { account_id: 'uuid', id: 'uuid' },
  due: 'due_at',
  attempts: 'tries',
  error: 'last_error',
};

/** An inbound message to announce. */
export interface InboundRow extends DueRow {
  id: string;
  channel: Channel;
  sender: string;
  /** Address for replies. Rows of earlier versions store ""; the query then returns `sender`. */
  address: string;
  sender_name: string;
  type: InboundType;
  body: string;
  media: InboundMedia | null;
  /** The message that a reaction belongs to; null if unknown. */
  reaction_to: string | null;
  /** The sender's contact from earlier messages; null if unknown. */
  known: string | null;
  /** Id for a contact created for the sender. All messages of a new sender share it. */
  new_contact_id: string;
  at: Date;
  arrived_at: Date;
}

/** Claims inbound messages to announce. */
export async function claimInbound(sql: Sql, { due, leasedUntil }: Claim): Promise<InboundRow[]> {
  return await sql<InboundRow[]>`
    with due as (${due}), claimed as (
      update inbound_messages m set ${claimed(sql, inboundMessages, leasedUntil)} from due
      where m.account_id = due.account_id and m.id = due.id
      returning m.*
    )
    select m.account_id, m.id, m.channel, m.sender, coalesce(nullif(m.address, ''), m.sender) as address, m.sender_name, m.type, m.body, m.media,
      s.contact_id as known, case when s.contact_id is null then coalesce(s.new_contact_id, m.id) else m.id end as new_contact_id, m.at, m.arrived_at, m.tries as attempts, null as trace, coalesce(
        (select a.message_id from attempts a
         where a.account_id = m.account_id and a.channel = m.channel and a.provider_id = m.reaction_to order by a.message_id desc limit 1),
        -- The sandbox and http providers may send the platform's message id.
        (select o.id from messages o where o.account_id = m.account_id
           and o.id = case when m.reaction_to ~ ${uuidForm} then m.reaction_to::uuid end)) as reaction_to
    from claimed m left join senders s on s.account_id = m.account_id and s.channel = m.channel and s.sender = m.sender order by m.id`;
}

/**
 * Stores the contacts of announced messages (null if none is possible), and returns the ids no other process had
 * announced. Updates who wrote when, because a process of the previous release does not.
 */
export async function endInbound(
  tx: Sql,
  rows: readonly Pick<InboundRow, 'account_id' | 'id'>[],
  contactIds: readonly (string | null)[],
): Promise<Set<string>> {
  const ended = await tx<{ id: string }[]>`
    with found as (
      select * from unnest(${rows.map(({ account_id }) => account_id)}::uuid[], ${rows.map(({ id }) => id)}::uuid[], ${[...contactIds]}::uuid[])
        as found (account_id, id, contact_id)
    ), ended as (
      update inbound_messages m set due_at = null, contact_id = found.contact_id from found
      where m.account_id = found.account_id and m.id = found.id and m.due_at is not null
      returning m.*
    ), known as (
      insert into senders as known (account_id, channel, sender, address, contact_id, wrote_at)
      select account_id, channel, sender, (array_agg(coalesce(nullif(address, ''), sender) order by at desc))[1],
        (array_agg(contact_id order by at desc) filter (where contact_id is not null))[1], max(at)
      from ended group by account_id, channel, sender order by account_id, channel, sender
      on conflict (account_id, channel, sender) do update set contact_id = coalesce(excluded.contact_id, known.contact_id),
        wrote_at = greatest(known.wrote_at, excluded.wrote_at)
    )
    select id from ended`;
  return new Set(ended.map(({ id }) => id));
}
