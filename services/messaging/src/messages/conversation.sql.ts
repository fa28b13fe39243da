import { idsOfContact } from '@customer-platform/contact-copy';
import type { Channel } from '@customer-platform/contracts/messaging';
import type { Sql } from '@customer-platform/service-kit';

/** One message of a conversation, whoever wrote it. */
export interface ConversationRow {
  id: string;
  direction: 'in' | 'out';
  channel: Channel;
  body: string;
  at: Date;
}

/** The last messages from and to a contact, and those merged into it, oldest first: of what was sent, what may have reached it. */
export async function selectConversation(
  sql: Sql,
  accountId: string,
  contactId: string,
  limit: number,
): Promise<ConversationRow[]> {
  const ids = idsOfContact(sql, accountId, contactId);
  return await sql<ConversationRow[]>`
    select * from (
      (select id, 'in' as direction, channel, body, at from inbound_messages
       where account_id = ${accountId} and contact_id = any(array(${ids})) order by id desc limit ${limit})
      union all
      (select id, 'out', steps -> step ->> 'channel', steps -> step ->> 'body', coalesce(sent_at, created_at) from messages
       where account_id = ${accountId} and contact_id = any(array(${ids})) and status in ('queued', 'sending', 'sent', 'delivered', 'read')
       order by id desc limit ${limit})
      order by at desc, id desc limit ${limit}
    ) as last order by at, id`;
}
