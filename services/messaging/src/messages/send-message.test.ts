import { type Platform, startPlatform, waitFor } from '@customer-platform/testkit';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  type HttpProvider,
  message,
  openShop,
  type Shop,
  startHttpProvider,
  withStatus,
} from '../../test/messaging.ts';

let platform: Platform;
let whatsapp: HttpProvider;
let sms: HttpProvider;
let shop: Shop;
beforeAll(async () => {
  platform = await startPlatform({ services: ['cdp', 'messaging', 'webhooks'] });
}, 60_000);
afterAll(() => platform.stop());
beforeEach(async () => {
  [whatsapp, sms] = [await startHttpProvider(), await startHttpProvider()];
  shop = await openShop(platform, { whatsapp, sms });
});
afterEach(() => Promise.all([whatsapp.stop(), sms.stop()]));

const to = '+4930901820';
const send = (body: object) => shop.account.client.messages.send({ body: body as never });
const steps = [
  { channel: 'whatsapp', body: 'Hello by WhatsApp', fallback_after_seconds: 60 },
  { channel: 'sms', body: 'Hello by SMS' },
];
const inSeconds = (seconds: number) => new Date(platform.clock.now().getTime() + seconds * 1_000).toISOString();
const reportDelivered = ({ provider_id: id }: { provider_id: string | null }) =>
  shop.hook('whatsapp', { type: 'receipt', id, status: 'delivered', at: inSeconds(0) });
const refuse = (status: number) => (_: unknown, response: { writeHead(status: number): { end(text: string): void } }) =>
  response.writeHead(status).end('{"message":"no"}');

describe('a message', () => {
  it('is queued, sent on the first channel, and becomes read by its receipts', async () => {
    const queued = await send({ to: '030 901820', channels: steps, reference: 'order-7' });
    expect(queued).toMatchObject({
      status: 'queued',
      to,
      channel: 'whatsapp',
      body: 'Hello by WhatsApp',
      contact: null,
    });
    const { attempts } = await message(shop.account, queued.id, withStatus('sent'));
    expect(attempts).toMatchObject([
      { number: 1, channel: 'whatsapp', provider: 'http', status: 'sent', receipts: [] },
    ]);
    const id = attempts[0]!.provider_id!;
    for (const status of ['delivered', 'read', 'sent', 'delivered']) {
      expect((await shop.hook('whatsapp', { type: 'receipt', id, status, at: inSeconds(0) })).status).toBe(200);
    }
    const read = await message(shop.account, queued.id, ({ attempts }) => attempts[0]!.receipts.length === 3);
    expect(read).toMatchObject({ status: 'read', reference: 'order-7' });
    expect([read.sent_at, read.delivered_at, read.read_at].includes(null)).toBe(false);
    expect(read.attempts[0]!.receipts.find(({ status }) => status === 'sent')!.applied).toBe(false);
    expect([whatsapp.sentTo(to).length, sms.received.length]).toEqual([1, 0]);
    expect(whatsapp.sentTo(to)[0]).toEqual({
      message: queued.id,
      attempt: id.slice(2),
      channel: 'whatsapp',
      to,
      subject: '',
      body: 'Hello by WhatsApp',
    });
    await platform.event(shop.account.id, 'message.read');
    const events = platform.events(shop.account.id).filter(({ type }) => type.startsWith('message.'));
    const kinds = events.map(({ type, data }) => `${type} ${data.previous.status}`);
    expect(kinds[0]).toBe('message.sent sending');
    expect(kinds.at(-1)).toMatch(/^message\.read /);
  });

  it('that a channel rejects continues on the next at once', async () => {
    whatsapp.respond = refuse(400);
    const { id } = await send({ to, channels: steps });
    const sent = await message(shop.account, id, withStatus('sent'));
    expect(sent).toMatchObject({ channel: 'sms', body: 'Hello by SMS' });
    expect(sent.attempts.map(({ status, reason }) => [status, reason])).toEqual([
      ['failed', 'rejected'],
      ['sent', null],
    ]);
  });

  it('that fails on every channel fails with the last reason and one event', async () => {
    for (const provider of [whatsapp, sms]) provider.respond = refuse(422);
    const { id } = await send({ to, channels: steps });
    const failed = await message(shop.account, id, withStatus('failed'));
    expect([failed.error?.code, failed.failed_at === null]).toEqual(['rejected', false]);
    const { data } = await platform.event(shop.account.id, 'message.failed');
    const previous = { status: 'sending', failed_at: null, error: null };
    expect(data).toEqual({ message: { ...failed, webhooks: undefined, webhooks_unavailable: undefined }, previous });
  });

  it('without a receipt in time continues on the next channel, and shows the furthest attempt, also in lists and events', async () => {
    sms.respond = refuse(400);
    const { id } = await send({ to, channels: steps });
    await message(shop.account, id, withStatus('sent'));
    expect(sms.received).toEqual([]);
    platform.clock.advance(60_000);
    const { attempts, ...shown } = await message(shop.account, id, (one) => one.attempts[1]?.status === 'failed');
    expect(sms.sentTo(to)).toHaveLength(1);
    const furthest = { status: 'sent', channel: 'whatsapp', body: 'Hello by WhatsApp', to };
    expect(shown).toMatchObject(furthest);
    const listed = await shop.account.client.messages.list({ query: { status: 'sent' } });
    expect(listed.data.find((one) => one.id === id)).toMatchObject(furthest);
    await reportDelivered(attempts[0]!);
    const { data } = await platform.event(shop.account.id, 'message.delivered');
    expect(data.message).toMatchObject({ ...furthest, status: 'delivered' });
    expect(data.previous).toEqual({ status: 'sent', delivered_at: null });
  });

  it('delivered in time is not sent on the next channel', async () => {
    const { id } = await send({ to, channels: steps });
    const sent = await message(shop.account, id, withStatus('sent'));
    await reportDelivered(sent.attempts[0]!);
    await message(shop.account, id, withStatus('delivered'));
    platform.clock.advance(120_000);
    const other = await send({ to: '+4930901821', channels: steps });
    await message(shop.account, other.id, withStatus('sent'));
    expect(sms.sentTo(to)).toEqual([]);
  });

  it.each([
    '＋44 20 7946 0958',
    '(+44) 20 7946 0958',
    'tel:+44-20-7946-0958',
    '\u{200e}+44\u{a0}20\u{a0}7946\u{a0}0958',
  ])('to %s goes to the number with its own country code', async (written) => {
    const { id } = await send({ to: written, channels: steps });
    expect(await message(shop.account, id, withStatus('sent'))).toMatchObject({ to: '+442079460958' });
    expect(whatsapp.sentTo('+442079460958')).toHaveLength(1);
  });

  it('to a contact goes to its number at the time of sending, and shows the contact', async () => {
    const contact = await shop.account.client.cdp.contacts.create({ body: { name: 'Ada', phone: to } });
    const { id } = await send({ contact: contact.id, channels: steps });
    const sent = await message(shop.account, id, withStatus('sent'));
    expect(sent).toMatchObject({ to, contact: { id: contact.id, name: 'Ada', phone: to } });
    expect(whatsapp.sentTo(to)).toHaveLength(1);
  });
});

describe('a scheduled message', () => {
  it('is sent when its time has come, and can be canceled until then', async () => {
    const one = await send({ to, channels: steps, send_at: inSeconds(60) });
    const other = await send({ to: '+4930901821', channels: steps, send_at: inSeconds(60) });
    expect(one.status).toBe('scheduled');
    const params = { message_id: other.id };
    expect((await shop.account.client.messages.cancel({ params })).status).toBe('cancelled');
    expect((await shop.account.client.messages.cancel({ params })).status).toBe('cancelled');
    const now = await send({ to: '+4930901822', channels: steps });
    await message(shop.account, now.id, withStatus('sent'));
    expect(whatsapp.received).toHaveLength(1);
    platform.clock.advance(61_000);
    await message(shop.account, one.id, withStatus('sent'));
    expect(whatsapp.sentTo('+4930901821')).toEqual([]);
    await expect(shop.account.client.messages.cancel({ params: { message_id: one.id } })).rejects.toMatchObject({
      status: 409,
    });
  });
});

describe('a message to a contact deleted before it is sent', () => {
  it.each(['sms', 'email'])('is not sent by %s', async (channel) => {
    const { client } = shop.account;
    if (channel === 'email')
      await client.messages.channels.put({
        params: { channel },
        body: { provider: 'http', settings: { url: sms.url } },
      });
    const contact = await client.cdp.contacts.create({ body: { name: 'Ada', phone: to, email: 'ada@example.com' } });
    const channels = [{ channel, body: 'Hello' }];
    const { id } = await send({ contact: contact.id, channels, send_at: inSeconds(60) });
    await client.cdp.contacts.delete({ params: { contact_id: contact.id } });
    const sql = platform.database('messaging');
    await waitFor('the copy to know', async () => {
      return (await sql`select 1 from contacts where id = ${contact.id} and deleted`).length === 1;
    });
    platform.clock.advance(61_000);
    expect((await message(shop.account, id, withStatus('failed'))).error?.code).toBe('no_address');
    expect(sms.received).toEqual([]);
  });
});

describe('marketing', () => {
  it('uses only channels with consent, as stored in customer data at that moment', async () => {
    const contact = await shop.account.client.cdp.contacts.create({ body: { name: 'Ada', phone: to } });
    const body = { contact: contact.id, channels: steps, purpose: 'marketing' };
    const refused = await send(body);
    expect(await message(shop.account, refused.id, withStatus('refused'))).toMatchObject({
      error: { code: 'no_consent' },
      attempts: [{ status: 'skipped', reason: 'no_consent' }, { reason: 'no_consent' }],
    });
    await shop.account.client.cdp.contacts.consents.record({
      params: { contact_id: contact.id },
      body: { channel: 'sms', purpose: 'marketing', state: 'granted' },
    });
    const granted = await send(body);
    const sent = await message(shop.account, granted.id, withStatus('sent'));
    expect(sent.attempts.map(({ channel, status }) => `${channel} ${status}`)).toEqual([
      'whatsapp skipped',
      'sms sent',
    ]);
    expect(whatsapp.received).toEqual([]);
  });
});

describe('in a sandbox', () => {
  it.each([
    ['sms', '+493090182001', 'delivered'],
    ['sms', '+493090182002', 'read'],
    ['sms', '+493090182003', 'failed'],
    ['sms', '+493090182004', 'sent'],
    ['sms', '+493090182078', 'delivered'],
    ['email', 'ada02@example.com', 'read'],
    ['email', 'ada03@example01.com', 'failed'],
    ['email', 'ada@example03.com', 'delivered'],
    ['email', '3@example.com', 'delivered'],
  ] as const)('by %s to %s nothing is sent, and the digits decide that it is %s', async (channel, address, ends) => {
    const { testClient, sandboxId } = shop.account;
    const { id } = await testClient.messages.send({ body: { to: address, channels: [{ channel, body: 'x' }] } });
    await platform.event(sandboxId, `message.${ends}`, (data) => data.message.id === id);
    expect((await testClient.messages.get({ params: { message_id: id } })).status).toBe(ends);
    expect(sms.received).toEqual([]);
  });
});

describe('webhook deliveries', () => {
  it('are shown in the message', async () => {
    const endpoint = await startHttpProvider();
    await shop.account.client.webhooks.create({ body: { url: endpoint.url, events: ['message.*'] } });
    endpoint.respond = (_request, response) => response.writeHead(204).end();
    const { id } = await send({ to, channels: steps });
    const told = await message(shop.account, id, ({ webhooks }) => webhooks[0]?.status === 'delivered');
    expect(told.webhooks).toMatchObject([{ event: 'message.sent', status: 'delivered', response_status: 204 }]);
    expect(told.webhooks_unavailable).toBe(false);
    await endpoint.stop();
  });
});

describe('a test of a channel', () => {
  const test = (channel: string, body: object) =>
    shop.account.request('POST', `/v1/messages/channels/${channel}/test`, { body });

  it('is an ordinary message on this channel only', async () => {
    const { status, body } = await test('sms', { to: '030 901820' });
    expect(status).toBe(202);
    expect(body).toMatchObject({
      status: 'queued',
      channel: 'sms',
      to,
      contact: null,
      purpose: 'service',
      reference: null,
    });
    const sent = await message(shop.account, body.id, withStatus('sent'));
    expect(sent.attempts).toMatchObject([{ number: 1, channel: 'sms', provider: 'http', status: 'sent' }]);
    expect(sms.sentTo(to)).toMatchObject([{ message: body.id, channel: 'sms', body: body.body }]);
    expect(whatsapp.received).toHaveLength(0);
    await platform.event(shop.account.id, 'message.sent', (data) => data.message.id === body.id);
  });

  const missing = { code: 'not_found', message: 'There is no such channel in this account' };
  const wrongTo = (message: string) => ({ code: 'invalid_request', message, field: 'to' });
  it.each([
    ['email', { to: 'ada@example.com' }, 404, missing],
    ['email', {}, 404, missing],
    ['fax', { to: '1' }, 404, { code: 'not_found' }],
    ['sms', {}, 400, wrongTo('to is required')],
    ['sms', { to: 'ada@example.com' }, 400, wrongTo('to must be a phone number, such as +4930901820')],
    ['sms', { to: '' }, 400, wrongTo('to must be a string of 1 to 254 characters')],
  ])('requires a channel that is set up and an address on it: %s, %j', async (channel, body, status, error) => {
    expect(await test(channel, body)).toMatchObject({ status, body: { error } });
    expect(sms.received).toHaveLength(0);
  });

  it('is simulated on any channel of a sandbox, in the language of the account or in English', async () => {
    const texts = [];
    for (const language of ['de-AT', 'pl']) {
      const { testClient, sandboxId } = await platform.account({ language });
      const sent = await testClient.messages.channels.test({
        params: { channel: 'email' },
        body: { to: 'ada@example.com' },
      });
      texts.push(sent.body);
      await platform.event(sandboxId, 'message.delivered', (data) => data.message.id === sent.id);
    }
    expect(texts).toEqual([
      expect.stringMatching(/^Das ist eine Testnachricht von .+\.$/),
      expect.stringMatching(/^This is a test message from .+\.$/),
    ]);
  });
});
