import { idsOfContact } from '@customer-platform/contact-copy';
import type { Channel } from '@customer-platform/contracts/messaging';
import { numbersOfLine } from '@customer-platform/phone-number';
import type { Sql } from '@customer-platform/service-kit';

/** Returns the channels on which a contact, or one merged into it, wrote. A message there goes to the sender's address. */
export async function channelsWrittenOn(sql: Sql, accountId: string, contactId: string): Promise<Channel[]> {
  const rows = await sql<{ channel: Channel }[]>`
    select distinct channel from senders
    where account_id = ${accountId} and contact_id = any(array(${idsOfContact(sql, accountId, contactId)}))`;
  return rows.map(({ channel }) => channel);
}

/**
 * Returns which of the two spellings of a phone line's number to use: the one that last wrote on WhatsApp. The 24-hour
 * window applies to that number.
 */
export async function numberOfSender(sql: Sql, accountId: string, number: string): Promise<string> {
  const numbers = numbersOfLine(number);
  if (numbers.length === 1) return number;
  const [row] = await sql<{ address: string }[]>`
    select address from senders where account_id = ${accountId} and channel = 'whatsapp' and address = any(${numbers}::text[])
    order by wrote_at desc limit 1`;
  return row?.address ?? number;
}
