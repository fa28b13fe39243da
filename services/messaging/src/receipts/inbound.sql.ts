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

/** Inbound message to announce. */
export interface InboundRow extends DueRow {
  id: string;
  channel: Channel;
  sender: string;
  /** Where replies go to; "" of one that a version before stored: then it is `sender`. */
  address: string;
  sender_name: string;
  type: InboundType;
  body: string;
  media: InboundMedia | null;
  /** The message that a reaction belongs to; null if unknown. */
  reaction_to: string | null;
  /** The contact of whom the sender was before. */
  known: string | null;
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
      s.contact_id as known, m.at, m.arrived_at, m.tries as attempts, null as trace, coalesce(
        (select a.message_id from attempts a
         where a.account_id = m.account_id and a.channel = m.channel and a.provider_id = m.reaction_to order by a.message_id desc limit 1),
        -- The sandbox and a provider of the account's own may name it by our id.
        (select o.id from messages o where o.account_id = m.account_id
           and o.id = case when m.reaction_to ~ ${uuidForm} then m.reaction_to::uuid end)) as reaction_to
    from claimed m left join senders s on s.account_id = m.account_id and s.channel = m.channel and s.sender = m.sender order by m.id`;
}

/** Sets the contacts of inbound messages, and of their senders, null if there can be none, and returns the ids of those that no other process had announced. */
export async function endInbound(
  tx: Sql,
  rows: readonly Pick<InboundRow, 'account_id' | 'id'>[],
  contactIds: readonly (string | null)[],
): Promise<Set<string>> {
  const ended = await tx<
    { account_id: string; channel: string; sender: string; contact_id: string | null; id: string }[]
  >`
    update inbound_messages m set due_at = null, contact_id = found.contact_id
    from unnest(${rows.map(({ account_id }) => account_id)}::uuid[], ${rows.map(({ id }) => id)}::uuid[], ${[...contactIds]}::uuid[])
      as found (account_id, id, contact_id)
    where m.account_id = found.account_id and m.id = found.id and m.due_at is not null
    returning m.account_id, m.channel, m.sender, m.contact_id, m.id`;
  const [accounts, channels, senders, contacts] = (['account_id', 'channel', 'sender', 'contact_id'] as const).map(
    (name) => ended.map((row) => row[name]),
  );
  await tx`
    update senders s set contact_id = found.contact_id
    from unnest(${accounts!}::uuid[], ${channels!}::text[], ${senders!}::text[], ${contacts!}::uuid[]) as found (account_id, channel, sender, contact_id)
    where s.account_id = found.account_id and s.channel = found.channel and s.sender = found.sender
      and found.contact_id is not null and s.contact_id is distinct from found.contact_id`;
  return new Set(ended.map(({ id }) => id));
}
