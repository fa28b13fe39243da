import { idsOfContact } from '@customer-platform/contact-copy';
import type { Channel, MessageStep } from '@customer-platform/contracts/messaging';
import type { Sql } from '@customer-platform/service-kit';
import type { AttemptProgress } from './furthest-attempt.ts';
import { progressOfAttempts } from './messages.sql.ts';

/** Message of a conversation: an inbound text, or the channels and attempts of an outbound message. */
export type ConversationRow = { id: string; at: Date } & (
  | { direction: 'in'; channel: Channel; body: string }
  | { direction: 'out'; steps: MessageStep[]; attempts: AttemptProgress[] }
);

/** Returns the last messages from and to a contact and those merged into it, oldest first; outbound ones only if they may have arrived. */
export async function selectConversation(
  sql: Sql,
  accountId: string,
  contactId: string,
  limit: number,
): Promise<ConversationRow[]> {
  const ids = idsOfContact(sql, accountId, contactId);
  return await sql<ConversationRow[]>`
    select * from (
      (select id, 'in' as direction, channel, body, at, null as steps, null as attempts from inbound_messages
       where account_id = ${accountId} and contact_id = any(array(${ids})) order by id desc limit ${limit})
      union all
      (select id, 'out', null, null, coalesce(sent_at, created_at), steps, ${progressOfAttempts(sql)} from messages m
       where account_id = ${accountId} and contact_id = any(array(${ids})) and status in ('queued', 'sending', 'sent', 'delivered', 'read')
       order by id desc limit ${limit})
      order by at desc, id desc limit ${limit}
    ) as last order by at, id`;
}
