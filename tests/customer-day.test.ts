import { type Platform, type Receiver, startPlatform, startReceiver, waitFor } from '@customer-platform/testkit';
import { afterAll, beforeAll, expect, it } from '@jest/globals';

let platform: Platform;
let receiver: Receiver;
beforeAll(async () => {
  [platform, receiver] = [await startPlatform(), await startReceiver()];
}, 60_000);
afterAll(async () => {
  await platform?.stop();
  await receiver?.stop();
});

/** Returns the data of the first received webhook of each kind. */
const told = () => {
  const events = receiver.received.map(({ body }) => JSON.parse(body));
  return new Map([...events].reverse().map((event) => [event.type as string, event.data]));
};

it("a customer's day: contact, consent, event, audience, deal, order, decline, and a webhook for each", async () => {
  const { client } = await platform.account({ name: 'Chairs & Co', timezone: 'UTC' });
  await client.webhooks.create({ body: { url: receiver.url, events: ['*'] } });

  const contact = await client.cdp.contacts.create({
    body: { name: 'Carla Client', phone: '+4930901820', tags: ['shop'] },
  });
  const params = { contact_id: contact.id };
  await client.cdp.contacts.consents.record({
    params,
    body: { channel: 'whatsapp', purpose: 'marketing', state: 'granted' },
  });

  const rules = {
    match: 'all' as const,
    conditions: [
      { type: 'event' as const, op: 'did' as const, name: 'cart.abandoned', days: 7 },
      { type: 'event' as const, op: 'did_not' as const, name: 'order.declined', days: null },
      { type: 'consent' as const, channel: 'whatsapp' as const, purpose: 'marketing' },
      { type: 'tag' as const, op: 'has' as const, tag: 'shop' },
    ],
  };
  const audience = await client.cdp.audiences.create({ body: { name: 'Left their cart', rules } });
  expect(audience).toMatchObject({ status: 'building', members: 0 });
  const audienceParams = { audience_id: audience.id };
  await waitFor(
    'the audience',
    async () => (await client.cdp.audiences.get({ params: audienceParams })).status === 'ready',
  );
  expect((await client.cdp.audiences.members.list({ params: audienceParams })).data).toEqual([]);

  const cart = { name: 'cart.abandoned', properties: { items: 2 } };
  const intake = await client.cdp.events.record({
    body: { events: [{ ...cart, contact: contact.id }, { ...cart, contact: crypto.randomUUID() }, { name: 'x' }] },
  });
  expect(intake).toMatchObject({ accepted: 1, repeated: 0, rejected: [{ index: 1 }, { index: 2 }] });
  const [member] = await waitFor('the member', async () => {
    const { data } = await client.cdp.audiences.members.list({ params: audienceParams });
    return data.length > 0 && data;
  });
  expect(member).toMatchObject({ id: contact.id, name: 'Carla Client', phone: '+4930901820' });
  const reasons = await client.cdp.audiences.explain({ params: audienceParams, query: { contact: contact.id } });
  expect([reasons.member, reasons.conditions.map(({ holds }) => holds)]).toEqual([true, [true, true, true, true]]);

  const deal = await client.crm.deals.create({
    body: { title: 'Two chairs', value_minor: 19_800, contact: contact.id },
  });
  expect(deal).toMatchObject({ pipeline: { name: 'Sales' }, stage: { name: 'New' }, contact: { id: contact.id } });
  await client.catalogue.products.create({ body: { sku: 'chair', name: 'Chair', price_minor: 9_900 } });
  const order = await client.catalogue.orders.create({
    body: { contact: contact.id, items: [{ sku: 'chair', quantity: 2 }] },
  });
  expect(order).toMatchObject({ number: 1, status: 'new', source: 'api', channel: 'whatsapp', total_minor: 19_800 });
  const declined = await client.catalogue.orders.decline({
    params: { order_id: order.id },
    body: { reason: 'Sold out.' },
  });
  expect(declined.status).toBe('declined');
  await client.crm.deals.lose({ params: { deal_id: deal.id }, body: { reason: 'sold out' } });

  // The decline is also an event of the contact, and removes it from the audience.
  await waitFor('the contact to leave', async () => {
    return (await client.cdp.audiences.get({ params: audienceParams })).members === 0;
  });
  const kinds = [
    'contact.created',
    'audience.ready',
    'audience.entered',
    'deal.created',
    'order.created',
    'order.declined',
    'deal.lost',
    'audience.left',
  ];
  await waitFor('every webhook', () => kinds.every((kind) => told().has(kind)));
  const events = told();
  const summary = { id: contact.id, name: 'Carla Client', phone: '+4930901820' };
  const shown = { audience: { id: audience.id, name: 'Left their cart' }, contact: summary };
  expect(events.get('audience.entered')).toEqual(shown);
  expect(events.get('audience.left')).toEqual(shown);
  expect(events.get('order.declined')).toMatchObject({ order: declined, previous: { status: 'new' } });
  expect(events.get('deal.lost')).toMatchObject({ deal: { id: deal.id, status: 'lost' }, reason: 'sold out' });
});
