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

/** Claims inbound messages to announce. */
export async function claimInbound(sql: Sql, { due, leasedUntil }: Claim): Promise<InboundRow[]> {
  return await sql<InboundRow[]>`
    with due as (${due}), claimed as (
      update inbound_messages m set ${claimed(sql, inboundMessages, leasedUntil)} from due
      where m.account_id = due.account_id and m.id = due.id
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
