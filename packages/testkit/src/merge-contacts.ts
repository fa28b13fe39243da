import { randomUUID } from 'node:crypto';
import type { Client } from '@customer-platform/client';
import { waitFor } from './wait-for.ts';

/**
 * Merges the contact `merged` into `keep`, after giving both a new external id that makes them a pair. Returns the pair's path parameters, for
 * undoing the merge. Other modules receive the merge later.
 */
export async function mergeContacts(
  client: Client,
  { keep, merged }: { keep: string; merged: string },
): Promise<{ duplicate_id: number }> {
  const external_id = randomUUID();
  for (const contact_id of [keep, merged]) {
    await client.cdp.contacts.update({ params: { contact_id }, body: { external_id } });
  }
  await client.cdp.duplicates.find({ body: {} });
  const pair = await waitFor('the pair', async () => {
    const { data } = await client.cdp.duplicates.list({ query: { reason: 'external_id', limit: 100 } });
    return data.find(({ detail }) => detail === external_id);
  });
  const params = { duplicate_id: pair.id };
  await client.cdp.duplicates.merge({ params, body: { keep } });
  return params;
}
