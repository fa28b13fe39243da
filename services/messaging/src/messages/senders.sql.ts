import { idsOfContact } from '@customer-platform/contact-copy';
import type { Channel } from '@customer-platform/contracts/messaging';
import type { Sql } from '@customer-platform/service-kit';

/** Returns the channels on which a contact, or one merged into it, wrote: a message there goes to where it wrote from. */
export async function channelsWrittenOn(sql: Sql, accountId: string, contactId: string): Promise<Channel[]> {
  const rows = await sql<{ channel: Channel }[]>`
    select distinct channel from senders
    where account_id = ${accountId} and contact_id = any(array(${idsOfContact(sql, accountId, contactId)}))`;
  return rows.map(({ channel }) => channel);
}
