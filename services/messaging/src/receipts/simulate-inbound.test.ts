import { randomUUID } from 'node:crypto';
import { type Platform, type RawResponse, startPlatform, type TestAccount, waitFor } from '@customer-platform/testkit';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';

let platform: Platform;
let account: TestAccount;
beforeAll(async () => {
  platform = await startPlatform({ services: ['cdp', 'messaging'] });
}, 60_000);
afterAll(() => platform.stop());
beforeEach(async () => {
  account = await platform.account();
});

const whatsapp = { channel: 'whatsapp' as const, from: '+4930901820' };
const post = (body: object, key = account.testKey): Promise<RawResponse> =>
  account.request('POST', '/v1/sandbox/inbound', { body, key });
const received = (accountId = account.sandboxId) =>
  platform.events(accountId).filter(({ type }) => type === 'message.received');
/** Simulates a message; returns the data of its event. */
async function write(body: object) {
  const before = received().length;
  const { status, body: made } = await post(body);
  expect(status).toBe(202);
  const { data } = await waitFor('the event', () => received()[before]);
  expect(data.message.id).toBe(made.id);
  return data;
}

describe('a simulated message', () => {
  it('arrives in the sandbox as if a provider had sent it, and creates a contact there', async () => {
    const { message, contact } = await write({ ...whatsapp, name: 'Ada', text: 'Do you deliver?' });
    expect(message).toMatchObject({ channel: 'whatsapp', from: '+4930901820', type: 'text', body: 'Do you deliver?' });
    expect(message).toMatchObject({ media: null, reaction_to: null });
    expect(contact).toMatchObject({ name: 'Ada', phone: '+4930901820' });
    expect((await account.testClient.cdp.contacts.list({})).data.map(({ id }) => id)).toEqual([contact.id]);
    expect((await account.client.cdp.contacts.list({})).data).toEqual([]);
    expect(received(account.id)).toEqual([]);
  });

  it('has the given type and file', async () => {
    const media = { mime_type: 'image/jpeg', provider_id: 'file-7' };
    const image = { ...whatsapp, type: 'image', text: 'How much is this one?', media };
    expect((await write(image)).message).toMatchObject({
      type: 'image',
      body: 'How much is this one?',
      media: { ...media, file_name: null },
    });
    const named = { ...media, file_name: 'menu.pdf' };
    expect((await write({ ...whatsapp, type: 'document', media: named })).message).toMatchObject({ media: named });
    for (const type of ['location', 'order', 'button', 'interactive', 'contacts', 'unsupported'])
      expect((await write({ ...whatsapp, type, text: 'x' })).message).toMatchObject({ type, body: 'x', media: null });
  });

  it('that is a reaction names the message of the platform', async () => {
    const channels = [{ channel: 'whatsapp' as const, body: 'Ready' }];
    const { id } = await account.testClient.messages.send({ body: { to: whatsapp.from, channels } });
    const { message } = await write({ ...whatsapp, type: 'reaction', text: '👍', reaction_to: id });
    expect(message).toMatchObject({ type: 'reaction', body: '👍', reaction_to: id });
    expect((await write({ ...whatsapp, type: 'reaction', text: '👍' })).message.reaction_to).toBeNull();
  });

  it.each([
    ['whatsapp', '030 901-820', '+4930901820'],
    ['sms', '+52 1 55 1234 5699', '+525512345699'],
    ['email', ' Ada@Example.com', 'ada@example.com'],
    ['whatsapp', 'DE.1349120865530274', 'DE.1349120865530274'],
  ])('by %s from "%s" has the sender as providers name them', async (channel, from, named) => {
    expect((await write({ channel, from, text: 'Hi' })).message.from).toBe(named);
  });

  it('from a sender without a number can be answered', async () => {
    const { contact } = await write({ channel: 'whatsapp', from: 'DE.1349120865530201', text: 'Hi' });
    expect(contact.phone).toBe('');
    const channels = [{ channel: 'whatsapp' as const, body: 'Hello' }];
    const sent = await account.testClient.messages.send({ body: { contact: contact.id, channels } });
    await waitFor('the reply to be delivered', async () => {
      const { status, to } = await account.testClient.messages.get({ params: { message_id: sent.id } });
      return status === 'delivered' && to === 'DE.1349120865530201';
    });
  });

  it('is dated by the sandbox clock', async () => {
    const { now } = await account.testClient.sandbox.clock.get();
    const advance_to = new Date(Date.parse(now) + 30 * 86_400_000).toISOString();
    await account.testClient.sandbox.clock.advance({ body: { advance_to } });
    await waitFor('the clock', async () => (await account.testClient.sandbox.clock.get()).status === 'ready');
    const { message } = await write({ ...whatsapp, text: 'Later' });
    expect(Date.parse(message.at)).toBeGreaterThanOrEqual(Date.parse(advance_to));
  });

  it('is stored once, however often it is repeated with its Idempotency-Key', async () => {
    const headers = { 'idempotency-key': randomUUID() };
    const body = { ...whatsapp, text: 'Once' };
    const send = () => account.request('POST', '/v1/sandbox/inbound', { body, key: account.testKey, headers });
    const [first, second] = [await send(), await send()];
    expect(second.body).toEqual(first.body);
    await waitFor('the event', () => received().length === 1);
    await write({ ...whatsapp, text: 'Twice' });
    expect(received()).toHaveLength(2);
  });
});

describe('a simulated message is refused', () => {
  it('with a live key as not found, and stores nothing', async () => {
    const response = await post({ ...whatsapp, text: 'Hi' }, account.key);
    expect([response.status, response.body.error.code]).toEqual([404, 'not_found']);
    const rows = await platform.database('messaging')`select from inbound_messages where account_id = ${account.id}`;
    expect(rows).toHaveLength(0);
  });

  it('without the scope messages:write', async () => {
    const key = await platform.issueKey(account.id, { mode: 'test', scopes: ['messages:read'] });
    const response = await post({ ...whatsapp, text: 'Hi' }, key);
    expect([response.status, response.body.error.code]).toEqual([403, 'scope_missing']);
  });

  const media = { mime_type: 'image/jpeg', provider_id: 'file-7' };
  it.each([
    ['channel', { channel: undefined }],
    ['channel', { channel: 'fax' }],
    ['from', { from: undefined }],
    ['from', { from: '' }],
    ['from', { from: '+49' }],
    ['from', { from: 'ada@example.com' }],
    ['from', { channel: 'sms', from: 'ACME' }],
    ['from', { channel: 'email', from: '+4930901820' }],
    ['type', { type: 'hologram' }],
    ['text', { text: 'x'.repeat(4_097) }],
    ['name', { name: 'x'.repeat(201) }],
    ['media', { type: 'image', media: { mime_type: 'image/jpeg' } }],
    ['media', { type: 'text', media }],
    ['reaction_to', { type: 'reaction', reaction_to: 'm-1' }],
    ['reaction_to', { type: 'reaction', reaction_to: randomUUID() }],
    ['reaction_to', { type: 'text', reaction_to: randomUUID() }],
  ])('with a wrong %s: %j', async (field, wrong) => {
    const response = await post({ ...whatsapp, ...wrong });
    expect([response.status, response.body.error.field]).toEqual([400, field]);
    expect(received()).toEqual([]);
  });

  it('if its reaction belongs to a message of another account', async () => {
    const other = await platform.account();
    const channels = [{ channel: 'whatsapp' as const, body: 'Ready' }];
    const { id } = await other.testClient.messages.send({ body: { to: whatsapp.from, channels } });
    const response = await post({ ...whatsapp, type: 'reaction', reaction_to: id });
    expect([response.status, response.body.error.field]).toEqual([400, 'reaction_to']);
  });
});
