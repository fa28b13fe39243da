import type { MessageDetail } from '@customer-platform/contracts/messaging';
import {
  type Platform,
  type Receiver,
  startPlatform,
  startReceiver,
  type TestAccount,
  waitFor,
} from '@customer-platform/testkit';
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { callHook, idOf, type OwnProvider, startOwnProvider } from './own-provider.ts';
import { nextMonday } from './seed.ts';

let platform: Platform;
let receiver: Receiver;
let whatsapp: OwnProvider;
let sms: OwnProvider;
let account: TestAccount;

beforeAll(async () => {
  platform = await startPlatform();
  [receiver, whatsapp, sms] = [await startReceiver(), await startOwnProvider(), await startOwnProvider()];
}, 60_000);
afterAll(async () => {
  await platform?.stop();
  for (const server of [receiver, whatsapp, sms]) await server?.stop();
});
beforeEach(async () => {
  account = await platform.account({ name: 'Chairs & Co', timezone: 'UTC' });
});

/** Returns the webhooks that the receiver got, the first of each kind. */
const told = () => {
  const events = receiver.received.map(({ body }) => JSON.parse(body));
  return new Map([...events].reverse().map((event) => [event.type as string, event.data]));
};

it("a customer's day: contact, consent, event, audience, deal, order, decline, and a webhook for each", async () => {
  const { client } = account;
  await client.createEndpoint({ body: { url: receiver.url, events: ['*'] } });

  const contact = await client.createContact({ body: { name: 'Carla Client', phone: '+4930901820', tags: ['shop'] } });
  const params = { contact_id: contact.id };
  await client.recordConsent({ params, body: { channel: 'whatsapp', purpose: 'marketing', state: 'granted' } });

  const rules = {
    match: 'all' as const,
    conditions: [
      { type: 'event' as const, op: 'did' as const, name: 'cart.abandoned', days: 7 },
      { type: 'event' as const, op: 'did_not' as const, name: 'order.declined', days: null },
      { type: 'consent' as const, channel: 'whatsapp' as const, purpose: 'marketing' },
      { type: 'tag' as const, op: 'has' as const, tag: 'shop' },
    ],
  };
  const audience = await client.createAudience({ body: { name: 'Left their cart', rules } });
  expect(audience).toMatchObject({ status: 'building', members: 0 });
  const audienceParams = { audience_id: audience.id };
  await waitFor('the audience', async () => (await client.getAudience({ params: audienceParams })).status === 'ready');
  expect((await client.listAudienceMembers({ params: audienceParams })).data).toEqual([]);

  const cart = { name: 'cart.abandoned', properties: { items: 2 } };
  const intake = await client.recordEvents({
    body: { events: [{ ...cart, contact: contact.id }, { ...cart, contact: crypto.randomUUID() }, { name: 'x' }] },
  });
  expect(intake).toMatchObject({ accepted: 1, repeated: 0, rejected: [{ index: 1 }, { index: 2 }] });
  const [member] = await waitFor('the member', async () => {
    const { data } = await client.listAudienceMembers({ params: audienceParams });
    return data.length > 0 && data;
  });
  expect(member).toMatchObject({ id: contact.id, name: 'Carla Client', phone: '+4930901820' });
  const reasons = await client.explainAudience({ params: audienceParams, query: { contact: contact.id } });
  expect([reasons.member, reasons.conditions.map(({ holds }) => holds)]).toEqual([true, [true, true, true, true]]);

  const deal = await client.createDeal({ body: { title: 'Two chairs', value_minor: 19_800, contact: contact.id } });
  expect(deal).toMatchObject({ pipeline: { name: 'Sales' }, stage: { name: 'New' }, contact: { id: contact.id } });
  await client.createProduct({ body: { sku: 'chair', name: 'Chair', price_minor: 9_900 } });
  const order = await client.createOrder({ body: { contact: contact.id, items: [{ sku: 'chair', quantity: 2 }] } });
  expect(order).toMatchObject({ number: 1, status: 'new', source: 'api', channel: 'whatsapp', total_minor: 19_800 });
  const declined = await client.declineOrder({ params: { order_id: order.id }, body: { reason: 'Sold out.' } });
  expect(declined.status).toBe('declined');
  await client.loseDeal({ params: { deal_id: deal.id }, body: { reason: 'sold out' } });

  // The decline is an event of the contact too, and removes it from the audience.
  await waitFor('the contact to leave', async () => {
    return (await client.getAudience({ params: audienceParams })).members === 0;
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

it('what they are told: a confirmation that one channel refuses and the next one delivers, and why an order is declined', async () => {
  const { client } = account;
  const member = { name: 'Ada', email: 'ada@example.com' };
  await platform.admin('POST', `/admin/accounts/${account.id}/members`, member);
  await client.putChannel({ params: { channel: 'whatsapp' }, body: whatsapp.settings });
  const { hook_url } = await client.putChannel({ params: { channel: 'sms' }, body: sms.settings });
  whatsapp.respond = (_request, response) => response.writeHead(400).end('{"message":"No such number"}');
  const endpoint = await client.createEndpoint({ body: { url: receiver.url, events: ['message.*'] } });
  const contact = await client.createContact({ body: { name: 'Carla Client', phone: '+4930901821' } });

  await client.createStaff({ body: { email: member.email, hours: { mon: [['08:00', '18:00']] } } });
  const place = { mode: 'physical' as const, location: 'Main Street 1' };
  const type = await client.createBookingType({
    body: { name: 'Fitting', duration_minutes: 30, staff: [member.email], ...place },
  });
  const starts_at = nextMonday(platform.clock.now(), 1).toISOString();
  const booked = await client.bookAppointment({ body: { contact: contact.id, booking_type: type.id, starts_at } });
  const reference = `appointment-${booked.id}`;

  // The booking's own confirmation has one channel, WhatsApp.
  const confirmation = await waitFor('the confirmation to fail', async () => {
    const { data } = await client.listMessages({ query: { reference, status: 'failed' } });
    return data[0];
  });
  const about = { contact: { id: contact.id, name: 'Carla Client' }, to: contact.phone, purpose: 'service' };
  expect(confirmation).toMatchObject({ ...about, channel: 'whatsapp', error: { code: 'rejected' } });
  expect(confirmation.error?.message).toContain('No such number');
  for (const part of ['Chairs & Co', 'Fitting', 'Main Street 1']) expect(confirmation.body).toContain(part);
  expect(whatsapp.sent()).toMatchObject([{ message: confirmation.id, to: contact.phone, body: confirmation.body }]);

  // The same again, now with a second channel.
  const { body } = confirmation;
  const { id } = await client.sendMessage({
    body: {
      contact: contact.id,
      reference,
      channels: [
        { channel: 'whatsapp', body },
        { channel: 'sms', body },
      ],
    },
  });
  const sent = await sms.next(({ body }) => JSON.parse(body).message === id);
  expect(JSON.parse(sent.body)).toMatchObject({ channel: 'sms', to: contact.phone, body });
  const at = platform.clock.now();
  const hook = { gatewayUrl: platform.gatewayUrl, path: new URL(hook_url).pathname, secret: sms.secret };
  const receipt = { type: 'receipt', id: idOf(JSON.parse(sent.body)), status: 'delivered', at: at.toISOString() };
  const taken = await callHook(hook, receipt, { at });
  expect(taken.status).toBe(200);

  const story = await wholeStory(id);
  expect(story).toMatchObject({ ...about, reference });
  expectTold(story, receipt.id, endpoint.id);

  const items = [{ sku: 'chair', name: 'Chair', quantity: 2, unit_price_minor: 9_900 }];
  const order = await client.createOrder({ body: { contact: contact.id, channel: 'sms', items } });
  await client.declineOrder({ params: { order_id: order.id }, body: { reason: 'The last chair was sold today.' } });
  const declined = JSON.parse((await sms.next(({ body }) => body.includes('The last chair'))).body);
  expect(declined).toMatchObject({ channel: 'sms', to: contact.phone, body: 'The last chair was sold today.' });
  const { data } = await client.listMessages({ query: { reference: `order-${order.number}` } });
  expect(data).toMatchObject([{ ...about, id: declined.message, channel: 'sms' }]);
});

/** Returns a message once one GET shows its whole history, including the webhooks that told of it. */
function wholeStory(message_id: string): Promise<MessageDetail> {
  return waitFor('the story to be whole', async () => {
    const message = await account.client.getMessage({ params: { message_id } });
    const isTold = (kind: string) =>
      message.webhooks.some(({ event, status }) => event === kind && status === 'delivered');
    return isTold('message.sent') && isTold('message.delivered') && message;
  });
}

function expectTold(story: MessageDetail, provider_id: string, endpoint: string): void {
  expect(story).toMatchObject({ status: 'delivered', channel: 'sms', error: null });
  expect(story.attempts).toMatchObject([
    { number: 1, channel: 'whatsapp', provider: 'http', status: 'failed', reason: 'rejected', receipts: [] },
    { number: 2, channel: 'sms', provider: 'http', status: 'delivered', reason: null, provider_id },
  ]);
  expect(story.attempts[1]!.receipts).toMatchObject([{ status: 'delivered', applied: true }]);
  expect(story.webhooks.map(({ event }) => event).sort()).toEqual(['message.delivered', 'message.sent']);
  for (const told of story.webhooks)
    expect(told).toMatchObject({ endpoint, status: 'delivered', response_status: 204 });
}
