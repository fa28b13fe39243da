import type { Consent } from '@customer-platform/contracts/cdp';
import type { Sql } from '@customer-platform/service-kit';

/** Returns a contact's address on a channel, and its consent in effect for a purpose. A merged contact yields its survivor's. */
export async function findReach(
  sql: Sql,
  accountId: string,
  { contact, channel, purpose }: Pick<Consent, 'channel' | 'purpose'> & { contact: string },
) {
  const [row] = await sql<{ address: string | null; consent: Consent['state'] | null }[]>`
    select ${channel === 'email' ? sql`c.email` : sql`c.phone`} as address, s.state as consent
    from contacts c
    left join consent_states s on s.account_id = c.account_id and s.contact_id = c.id
      and s.channel = ${channel} and s.purpose = ${purpose}
    where c.account_id = ${accountId}
      and c.id = (select coalesce(merged_into, id) from contacts where account_id = ${accountId} and id = ${contact})`;
  return row;
}
