import { idsOfContact } from '@customer-platform/contact-copy';
import type { Channel, MessageStep } from '@customer-platform/contracts/messaging';
import type { Sql } from '@customer-platform/service-kit';
import type { AttemptProgress } from './furthest-attempt.ts';
import { progressOfAttempts } from './messages.sql.ts';

/** A message of a conversation: an inbound text, or an outbound message with its channels and attempts. */
export type ConversationRow = { id: string; at: Date } & (
  | { direction: 'in'; channel: Channel; body: string }
  | { direction: 'out'; steps: MessageStep[]; attempts: AttemptProgress[] }
);

/** Maximum number of a contact's newest outbound messages that are searched, since most of them may have failed. */
const maxSearched = 1_000;

/**
 * Returns the last messages from and to a contact and those merged into it, oldest first. Outbound messages are
 * included only if they may have arrived and are among the 1,000 newest.
 */
export async function selectConversation(
  sql: Sql,
  accountId: string,
  contactId: string,
  limit: number,
): Promise<ConversationRow[]> {
  const ids = idsOfContact(sql, accountId, contactId);
  // Attempts are looked up last, only for the final page, because each of a contact's ids yields its own page.
  return await sql<ConversationRow[]>`
    select direction, id, at, channel, body, steps, case when direction = 'out' then ${progressOfAttempts(sql)} end as attempts from (
      (select i.* from (${ids}) as named cross join lateral (
         select account_id, id, 'in' as direction, channel, body, at, null::jsonb as steps from inbound_messages
         where account_id = ${accountId} and contact_id = named.id order by id desc limit ${limit}) as i)
      union all
      (select o.* from (${ids}) as named cross join lateral (
         select account_id, id, 'out' as direction, null::text as channel, null::text as body, coalesce(sent_at, created_at) as at, steps
         from (select * from messages where account_id = ${accountId} and contact_id = named.id order by id desc limit ${maxSearched}) as newest
         where status in ('queued', 'sending', 'sent', 'delivered', 'read') order by id desc limit ${limit}) as o)
      order by at desc, id desc limit ${limit}
    ) as m order by at, id`;
}
