import type { Consent } from '@customer-platform/contracts/cdp';
import type { Channel } from '@customer-platform/contracts/messaging';
import type { Sql } from '@customer-platform/service-kit';

export interface Reach {
  address: string | null;
  consent: Consent['state'] | null;
}

/**
 * Returns the address of a contact on a channel, and its consent that counts for a purpose there; those of the
 * surviving contact, if merged.
 */
export async function findReach(sql: Sql, accountId: string, contactId: string, channel: Channel, purpose: string) {
  const [row] = await sql<Reach[]>`
    select ${channel === 'email' ? sql`c.email` : sql`c.phone`} as address, s.state as consent
    from contacts c
    left join consent_states s on s.account_id = c.account_id and s.contact_id = c.id
      and s.channel = ${channel} and s.purpose = ${purpose}
    where c.account_id = ${accountId}
      and c.id = (select coalesce(merged_into, id) from contacts where account_id = ${accountId} and id = ${contactId})`;
  return row;
}
