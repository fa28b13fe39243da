import { randomUUID } from 'node:crypto';
import { type Platform, type RawResponse, startPlatform, type TestAccount, waitFor } from '@customer-platform/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { callHook, idOf, type OwnProvider, startOwnProvider } from './own-provider.ts';

/** Checks requests at the limits of Messages. Errors name the invalid field and say what would be right. */
let platform: Platform;
let provider: OwnProvider;
let account: TestAccount;
let contact: string;
let withoutPhone: string;
let hook: string;

beforeAll(async () => {
  platform = await startPlatform({ services: ['cdp', 'messaging'] });
  provider = await startOwnProvider();
  account = await platform.account();
  const { client } = account;
  contact = (await client.cdp.contacts.create({ body: { name: 'Carla', phone: '+4930901820' } })).id;
  withoutPhone = (await client.cdp.contacts.create({ body: { name: 'Nobody', email: 'nobody@example.com' } })).id;
  const { hook_url } = await client.messages.channels.put({ params: { channel: 'sms' }, body: provider.settings });
  hook = new URL(hook_url).pathname;
  await client.messages.channels.put({ params: { channel: 'email' }, body: provider.settings });
}, 60_000);
afterAll(async () => {
  await platform?.stop();
  await provider?.stop();
});

const sms = { channel: 'sms', body: 'Hello' };
const to = '+4930901820';
const inMs = (ms: number) => new Date(platform.clock.now().getTime() + ms).toISOString();
const send = (body: object) => account.request('POST', '/v1/messages', { body });
const put = (channel: string, body: object) => account.request('PUT', `/v1/messages/channels/${channel}`, { body });

function expectRefusal(response: RawResponse, field: string, says: RegExp): void {
  const { error } = response.body;
  expect([response.status, error?.code, error?.field]).toEqual([400, 'invalid_request', field]);
  expect(error.message).toMatch(says);
}

describe('a message is rejected', () => {
  it.each<[string, () => object, string, RegExp]>([
    ['to an unknown contact', () => ({ contact: randomUUID(), channels: [sms] }), 'contact', /^contact must be/],
    ['to nobody', () => ({ channels: [sms] }), 'contact', /^contact or to is required$/],
    ['to a contact and an address', () => ({ contact, to, channels: [sms] }), 'to', /left out/],
    ['to a contact without an address', () => ({ contact: withoutPhone, channels: [sms] }), 'contact', /phone number/],
    ['to an invalid number', () => ({ to: '+49123', channels: [sms] }), 'to', /phone number, such as \+/],
    ['to an email by sms', () => ({ to: 'ada@example.com', channels: [sms] }), 'to', /phone number, such as \+/],
    ['to a number by email', () => ({ to, channels: [{ ...sms, channel: 'email' }] }), 'to', /email address/],
    [
      'to one address by email and sms',
      () => ({ to, channels: [sms, { ...sms, channel: 'email' }] }),
      'to',
      /give contact instead/,
    ],
    [
      'by a channel that is not set up',
      () => ({ to, channels: [sms, { ...sms, channel: 'whatsapp' }] }),
      'channels',
      /^channels\[1\]\.channel .*PUT \/v1\/messages\/channels\/whatsapp$/,
    ],
    ['by an unknown channel', () => ({ to, channels: [{ ...sms, channel: 'fax' }] }), 'channels', /whatsapp/],
    [
      'by the same channel twice',
      () => ({ contact, channels: [sms, { ...sms, channel: 'email' }, { ...sms, body: 'Again' }] }),
      'channels',
      /^channels\[2\]\.channel must not repeat sms/,
    ],
    ['by no channel', () => ({ to, channels: [] }), 'channels', /^channels .*1/],
    ['by six channels', () => ({ to, channels: Array(6).fill(sms) }), 'channels', /^channels .*5/],
    ['without a body', () => ({ to, channels: [{ channel: 'sms' }] }), 'channels', /^channels\[0\]\.body /],
    ['with an empty body', () => ({ to, channels: [{ ...sms, body: '' }] }), 'channels', /^channels\[0\]\.body .*1/],
    [
      'of 4,097 characters',
      () => ({ to, channels: [sms, { ...sms, body: 'x'.repeat(4_097) }] }),
      'channels',
      /^channels\[1\]\.body .*4096 characters/,
    ],
    ['of 4,097 emoji', () => ({ to, channels: [{ ...sms, body: '😀'.repeat(4_097) }] }), 'channels', /4096/],
    ...[9, 259_201].map((seconds): [string, () => object, string, RegExp] => [
      `that waits ${seconds} s for a receipt`,
      () => ({ to, channels: [{ ...sms, fallback_after_seconds: seconds }] }),
      'channels',
      seconds < 10 ? /^channels\[0\]\.fallback_after_seconds .*10/ : /259200/,
    ]),
    ['in the past', () => ({ to, channels: [sms], send_at: inMs(-60_000) }), 'send_at', /in the future, after \d/],
    ['at this moment', () => ({ to, channels: [sms], send_at: inMs(0) }), 'send_at', /in the future, after \d/],
    ['with a reference of 101', () => ({ to, channels: [sms], reference: 'x'.repeat(101) }), 'reference', /100/],
    ['for another purpose', () => ({ to, channels: [sms], purpose: 'spam' }), 'purpose', /service or marketing/],
  ])('%s', async (_what, body, field, says) => {
    expectRefusal(await send(body()), field, says);
  });

  it('and not stored', async () => {
    const { id, client } = await platform.account();
    await client.messages.channels.put({ params: { channel: 'sms' }, body: provider.settings });
    const body = { to: '+49123', channels: [{ channel: 'sms' as const, body: 'Hello' }] };
    await expect(client.messages.send({ body })).rejects.toMatchObject({ status: 400 });
    expect((await client.messages.list({})).data).toEqual([]);
    expect(platform.events(id).filter(({ type }) => type.startsWith('message.'))).toEqual([]);
  });
});

describe('a message is accepted', () => {
  it.each<[string, () => object]>([
    ['of 4,096 characters', () => ({ to, channels: [{ ...sms, body: 'x'.repeat(4_096) }] })],
    ['of 4,096 emoji', () => ({ to, channels: [{ ...sms, body: '😀'.repeat(4_096) }] })],
    ['by each channel once', () => ({ contact, channels: [sms, { ...sms, channel: 'email' }] })],
    ['that waits 10 s for a receipt', () => ({ to, channels: [{ ...sms, fallback_after_seconds: 10 }] })],
    ['that waits three days for a receipt', () => ({ to, channels: [{ ...sms, fallback_after_seconds: 259_200 }] })],
    ['with a reference of 100', () => ({ to, channels: [sms], reference: '😀'.repeat(100) })],
    ['a minute ahead', () => ({ to, channels: [sms], send_at: inMs(60_000) })],
    [
      'to a contact without a number, by email',
      () => ({ contact: withoutPhone, channels: [{ ...sms, channel: 'email' }] }),
    ],
  ])('%s', async (_what, body) => {
    const response = await send(body());
    expect([response.status, response.body.error]).toEqual([202, null]);
    const { text: shown } = await account.request('GET', `/v1/messages/${response.body.id}`);
    expect(JSON.parse(shown)).toMatchObject({ body: (body() as { channels: { body: string }[] }).channels[0]!.body });
  });
});

describe('a channel is not set up', () => {
  const complete: Record<string, [channel: string, settings: Record<string, unknown>]> = {
    twilio: ['sms', { account_sid: `AC${'0'.repeat(32)}`, auth_token: 'token', from: '+4930901820' }],
    whatsapp_cloud: [
      'whatsapp',
      { phone_number_id: '1', access_token: 'token', app_secret: 'secret', verify_token: 'verify' },
    ],
    smtp: ['email', { host: '127.0.0.1', from: 'shop@example.com' }],
    http: ['sms', { url: 'http://127.0.0.1:9/' }],
  };
  const lacking = Object.entries(complete).flatMap(([name, [channel, settings]]) =>
    Object.keys(settings).map((setting) => [name, setting, channel, settings] as const),
  );

  it.each(lacking)('with %s without %s', async (name, setting, channel, settings) => {
    const other = await platform.account();
    const body = { provider: name, settings: { ...settings, [setting]: undefined } };
    const response = await other.request('PUT', `/v1/messages/channels/${channel}`, { body });
    expectRefusal(response, 'settings', new RegExp(`^settings\\.${RegExp.escape(setting)}\\b`));
    expect((await other.client.messages.channels.list({})).data).toEqual([]);
    body.settings = settings;
    const right = await other.request('PUT', `/v1/messages/channels/${channel}`, { body });
    expect([right.status, right.body.error]).toEqual([200, null]);
  });

  it.each([
    ['sms', 'smtp', /^provider must be http or twilio for sms$/],
    ['sms', 'whatsapp_cloud', /^provider must be http or twilio for sms$/],
    ['email', 'twilio', /^provider must be http or smtp for email$/],
    ['whatsapp', 'smtp', /^provider must be http or twilio or whatsapp_cloud for whatsapp$/],
    ['sms', 'simulated', /^provider must be http or twilio for sms$/],
  ])('%s with %s', async (channel, name, says) => {
    expectRefusal(await put(channel, { provider: name, settings: {} }), 'provider', says);
  });

  it.each([
    'http://10.0.0.1/',
    'https://192.168.1.1/hook',
    'https://169.254.169.254/',
    'http://203.0.113.7/',
    'ftp://example.com/',
    'somewhere',
  ])('with http at %s', async (url) => {
    expectRefusal(await put('sms', { provider: 'http', settings: { url } }), 'settings', /^settings\.url /);
  });

  it('with http and a secret that is too short', async () => {
    const settings = { url: 'http://127.0.0.1:9/', secret: 'whsec_c2hvcnQ=' };
    expectRefusal(await put('sms', { provider: 'http', settings }), 'settings', /^settings\.secret must be whsec_ /);
  });

  it('with a mail server at a private address', async () => {
    const settings = { host: '10.0.0.1', from: 'shop@example.com' };
    expectRefusal(await put('email', { provider: 'smtp', settings }), 'settings', /^settings\.host /);
  });

  it('under an unknown name', async () => {
    const response = await put('fax', { provider: 'http', settings: { url: 'http://127.0.0.1:9/' } });
    const message = 'There is no such channel: channel must be whatsapp, sms or email';
    expect([response.status, response.body.error]).toEqual([404, { code: 'not_found', message }]);
  });
});

describe('a hook', () => {
  const call = (body: object, options = {}, path = hook, secret = provider.secret) =>
    callHook({ gatewayUrl: platform.gatewayUrl, path, secret }, body, { at: platform.clock.now(), ...options });
  const inbound = { type: 'inbound', id: 'in-1', from: '+4930901899', body: 'Hi', at: '2026-11-20T09:00:00Z' };
  let sql: ReturnType<Platform['database']>;
  beforeAll(() => {
    sql = platform.database('messaging');
  });
  const stored = async () => {
    const [counts] = await sql`
      select (select count(*)::int from arrived_receipts) as receipts, (select count(*)::int from inbound_messages) as inbound`;
    const kinds = ['message.received', 'message.delivered'];
    return { ...counts, events: platform.events(account.id).filter(({ type }) => kinds.includes(type)).length };
  };
  const refusals: [string, (body: object) => Promise<RawResponse>, number, string][] = [
    [
      'another secret',
      (body) => call(body, {}, hook, `whsec_${Buffer.alloc(32).toString('base64')}`),
      401,
      'invalid_key',
    ],
    ['an invalid signature', (body) => call(body, { signature: 'v1,x' }), 401, 'invalid_key'],
    [
      'a body that differs from the signed one',
      (body) => call({ ...body, more: 1 }, { signedBody: body }),
      401,
      'invalid_key',
    ],
    ['no signature', (body) => account.request('POST', hook, { body, key: null }), 401, 'invalid_key'],
    ['only an API key', (body) => account.request('POST', hook, { body }), 401, 'invalid_key'],
    ['5 min and 2 s ago', (body) => call(body, { at: new Date(inMs(-302_000)) }), 401, 'invalid_key'],
    ['5 min and 2 s ahead', (body) => call(body, { at: new Date(inMs(302_000)) }), 401, 'invalid_key'],
    ['an unknown token', (body) => call(body, {}, `/hooks/messages/${'x'.repeat(32)}`), 404, 'not_found'],
  ];

  it.each(refusals)('called with %s stores nothing and changes no message', async (_what, refused, status, code) => {
    const { body } = await send({ to, channels: [sms] });
    const sent = await waitFor('the message to be sent', async () => {
      const message = await account.client.messages.get({ params: { message_id: body.id } });
      return message.status === 'sent' && message;
    });
    await platform.event(account.id, 'message.sent', ({ message }) => message.id === body.id);
    const before = await stored();
    const receipt = { type: 'receipt', id: sent.attempts[0]!.provider_id, status: 'delivered', at: inMs(0) };
    for (const given of [receipt, inbound]) {
      const response = await refused(given);
      expect([response.status, response.body.error.code]).toEqual([status, code]);
    }
    expect(await stored()).toEqual(before);
    expect(await account.client.messages.get({ params: { message_id: body.id } })).toEqual(sent);
  });

  it.each<[string, Record<string, unknown>, string]>([
    ['an unknown type', { type: 'picture' }, 'type'],
    ['no type', { type: undefined }, 'type'],
    ['an unknown status', { status: 'lost' }, 'status'],
    ['no id', { id: undefined }, 'id'],
    ['an id that is too long', { id: 'x'.repeat(201) }, 'id'],
    ['an empty id', { id: '' }, 'id'],
    ['an id with NUL', { id: 'a\0' }, 'id'],
    ['a permanent that is not a boolean', { permanent: 'yes' }, 'permanent'],
    ['no time', { at: undefined }, 'at'],
    ['a time without an offset', { at: '2026-11-20T09:00:00' }, 'at'],
    ['a message without a sender', { ...inbound, from: '' }, 'from'],
    ['an invalid name', { ...inbound, name: 1 }, 'name'],
    ['a message without a body', { ...inbound, body: undefined }, 'body'],
  ])('called with %s responds 400 and stores nothing', async (_what, wrong, field) => {
    const before = await stored();
    const receipt = { type: 'receipt', id: 'p-1', status: 'delivered', at: inMs(0) };
    expectRefusal(await call({ ...receipt, ...wrong }), field, new RegExp(`^${RegExp.escape(field)} `));
    expect(await stored()).toEqual(before);
  });

  it('accepts a call signed almost five minutes ago, also repeatedly', async () => {
    const { body } = await send({ to, channels: [sms] });
    const { attempt } = await waitFor('the message', () => provider.sent().find(({ message }) => message === body.id));
    const receipt = { type: 'receipt', id: idOf({ attempt }), status: 'delivered', at: inMs(0) };
    for (let count = 0; count < 2; count++) {
      expect((await call(receipt, { at: new Date(inMs(-298_000)) })).status).toBe(200);
    }
    const params = { message_id: body.id };
    const delivered = await waitFor('the receipt to be applied', async () => {
      const message = await account.client.messages.get({ params });
      return message.status === 'delivered' && message;
    });
    expect(delivered.attempts[0]!.receipts).toMatchObject([{ status: 'delivered', applied: true }]);
  });
});
