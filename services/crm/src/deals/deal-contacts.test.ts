import { randomUUID, randomUUIDv7 } from 'node:crypto';
import { busOf, startPlatform, waitFor } from '@customer-platform/testkit';
import { afterAll, describe, expect, it } from '@jest/globals';
import { invalid, openSales } from '../../test/crm.ts';

const platform = await startPlatform({ services: ['cdp', 'crm'] });
const bus = await busOf(platform, 'cdp');
afterAll(async () => {
  await bus.close();
  await platform.stop();
});

/** Publishes contact.merged as customer data does, with the given sequence. */
async function merge(account: string, survivor: { id: string; name: string }, merged: string, sequence: number) {
  const id = randomUUIDv7();
  const contact = { ...survivor, number: 1, phone: null, email: null, tags: [], fields: {} };
  const data = { contact, merged: { id: merged, name: 'Merged', phone: '' } };
  const type = 'contact.merged';
  const envelope = JSON.stringify({ id, type, timestamp: '2026-06-01T08:00:00Z', account, mode: 'live', data });
  await bus.publish({ id, kind: type, audience: 'public', sequence, envelope, trace: undefined });
}

describe('the contact of a deal', () => {
  it('has its current name', async () => {
    const { account, deal, get } = await openSales(platform);
    const { id } = await account.client.cdp.contacts.create({ body: { name: 'Ada', phone: '+4930901820' } });
    const made = await deal({ contact: id });
    await account.client.cdp.contacts.update({ params: { contact_id: id }, body: { name: 'Ada Married', phone: '' } });
    await waitFor('the new name', async () => (await get(made.id)).contact?.name === 'Ada Married');
    expect((await get(made.id)).contact).toEqual({ id, name: 'Ada Married', phone: '' });
  });

  it('that was merged is shown as the survivor in deals and filters, and setting either id changes nothing', async () => {
    const { account, deal, get, patch } = await openSales(platform);
    const survivor = { id: randomUUID(), name: 'Survivor' };
    const { id: merged } = await account.client.cdp.contacts.create({ body: { name: 'Merged' } });
    const made = await deal({ contact: merged });
    await merge(account.id, survivor, merged, 1_000_000);
    await waitFor('the merge', async () => (await get(made.id)).contact?.id === survivor.id);
    const shown = { ...survivor, phone: '' };
    const second = await deal({ contact: merged });
    expect(second.contact).toEqual(shown);
    for (const contact of [merged, survivor.id]) {
      const { data } = await account.client.crm.deals.list({ query: { contact } });
      expect(data.map((each) => [each.id, each.contact])).toEqual([
        [second.id, shown],
        [made.id, shown],
      ]);
      expect((await patch(made.id, { contact })).body).toEqual({ ...made, contact: shown });
    }
    expect((await patch(made.id, { notes: 'x' })).body.contact).toEqual(shown);
    const event = await platform.event(account.id, 'deal.updated');
    expect(event.data.previous).toEqual({ notes: '' });
  });

  it('that was deleted stays in its deals, and cannot be set on any deal', async () => {
    const { account, deal, get, patch } = await openSales(platform);
    const { id } = await account.client.cdp.contacts.create({ body: { name: 'Ada' } });
    const [made, other] = [await deal({ contact: id }), await deal()];
    await account.client.cdp.contacts.delete({ params: { contact_id: id } });
    await waitFor('the deletion', async () => {
      await patch(other.id, { contact: '' });
      return (await patch(other.id, { contact: id })).status === 400;
    });
    expect(await patch(other.id, { contact: id })).toMatchObject(invalid('contact'));
    expect(await account.request('POST', '/v1/crm/deals', { body: { title: 'x', contact: id } })).toMatchObject(
      invalid('contact'),
    );
    expect((await get(made.id)).contact).toEqual({ id, name: 'Ada', phone: '' });
    expect(await patch(made.id, { contact: id, notes: 'x' })).toMatchObject({ status: 200, body: { notes: 'x' } });
    expect((await patch(made.id, { contact: '' })).body.contact).toBeNull();
  });
});
