import { type Platform, startPlatform, type TestAccount, waitFor as waitUntil } from '@customer-platform/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createClient, eachOf, PlatformError, WaitError } from './index.ts';

let platform: Platform;
let account: TestAccount;
beforeAll(async () => {
  platform = await startPlatform({ services: ['cdp', 'messaging', 'agents', 'webhooks'] });
  account = await platform.account();
});
afterAll(() => platform?.stop());

async function all<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const found: Item[] = [];
  for await (const item of items) found.push(item);
  return found;
}

describe('the methods of a client', () => {
  it('are in groups, and also have their flat names', async () => {
    const client = createClient({ baseUrl: platform.gatewayUrl, apiKey: account.key });
    const contact = await client.cdp.contacts.create({ body: { name: 'Ada' } });
    const params = { contact_id: contact.id };
    expect(await client.getContact({ params })).toEqual(await client.cdp.contacts.get({ params }));
    expect(client.cancelAppointment).toBe(client.calendar.appointments.cancel);
  });

  it('cannot be replaced, even in nested groups', () => {
    const { client } = account;
    for (const group of [client, client.calendar, client.calendar.staff.timeOff, client.events, client.waitFor])
      expect(Object.isFrozen(group)).toBe(true);
  });
});

describe('a call', () => {
  it('resolves with its response on request', async () => {
    const create = { body: { name: 'Ben' }, idempotencyKey: crypto.randomUUID() };
    const first = await account.client.cdp.contacts.create(create).withResponse();
    expect(first.response).toMatchObject({ status: 201, isReplayed: false });
    expect(first.response.requestId).toBe(first.response.headers.get('request-id'));
    expect(first.response.requestId).toMatch(/\S/);
    const again = await account.client.cdp.contacts.create(create).withResponse();
    expect(again.data).toEqual(first.data);
    expect(again.response).toMatchObject({ status: 201, isReplayed: true });
    const params = { contact_id: first.data.id };
    const deleted = await account.client.cdp.contacts.delete({ params }).withResponse();
    expect([deleted.data, deleted.response.status]).toEqual([undefined, 204]);
  });

  it('that fails rejects once, with or without its response', async () => {
    const unhandled: unknown[] = [];
    const onUnhandled = (reason: unknown) => unhandled.push(reason);
    process.on('unhandledRejection', onUnhandled);
    try {
      const params = { contact_id: crypto.randomUUID() };
      const call = account.client.cdp.contacts.get({ params });
      await expect(call.withResponse()).rejects.toBeInstanceOf(PlatformError);
      await expect(account.client.cdp.contacts.get({ params })).rejects.toBeInstanceOf(PlatformError);
      await new Promise((resolve) => setImmediate(resolve));
    } finally {
      process.off('unhandledRejection', onUnhandled);
    }
    expect(unhandled).toEqual([]);
  });

  it('is refused for an unknown option, which would otherwise be ignored silently', async () => {
    const { client } = account;
    const mistyped = { qeury: { tag: 'vip' } } as never;
    await expect(client.cdp.contacts.list(mistyped)).rejects.toThrow(
      'cdp.contacts.list takes params, query, body, idempotencyKey, signal, not qeury',
    );
    const options = { baseUrl: platform.gatewayUrl, apiKey: account.key, timeout: 5 };
    expect(() => createClient(options)).toThrow(/^createClient takes baseUrl, .*, not timeout$/);
    const after = { after_sequence: 41 } as never;
    expect(() => client.events.stream(after)).toThrow(/^events\.stream takes types, .*, not after_sequence$/);
    await expect(client.waitFor.clock({ timeout: 5 } as never)).rejects.toThrow(/^waitFor takes .*, not timeout$/);
  });
});

describe('a list', () => {
  const tag = 'in pages';
  let ids: string[];
  beforeAll(async () => {
    ids = [];
    for (let number = 0; number < 5; number++)
      ids.unshift((await account.client.cdp.contacts.create({ body: { name: `${number}`, tags: [tag] } })).id);
  });

  it('is its first page when awaited, and all entries of all pages when iterated', async () => {
    const list = account.client.cdp.contacts.list({ query: { tag, limit: 2 } });
    expect((await list).data.map(({ id }) => id)).toEqual(ids.slice(0, 2));
    expect((await all(list)).map(({ id }) => id)).toEqual(ids);
    expect((await all(list)).map(({ id }) => id)).toEqual(ids);
  });

  it('has the response of each page', async () => {
    const requestIds = new Set<string | undefined>();
    const contacts = eachOf(async (page) => {
      const list = account.client.cdp.contacts.list({ query: { tag, limit: 2, ...page } });
      const { data, response } = await list.withResponse();
      requestIds.add(response.requestId);
      return data;
    });
    expect((await all(contacts)).map(({ id }) => id)).toEqual(ids);
    expect(requestIds.size).toBe(3);
  });

  it('of events pages by sequence if it starts after one', async () => {
    const { id } = await account.client.cdp.contacts.create({ body: { name: 'Last' } });
    const last = await waitUntil('the last event', async () => {
      const { data } = await account.client.events.list({ query: { type: 'contact.created' } });
      return data.find((event) => event.type === 'contact.created' && event.data.contact.id === id);
    });
    const after_sequence = last.sequence - 3;
    const events = await all(account.client.events.list({ query: { after_sequence, limit: 2 } }));
    expect(events.map(({ sequence }) => sequence)).toEqual([1, 2, 3].map((number) => after_sequence + number));
  });

  it('rejects its iteration if a page is refused', async () => {
    const list = account.client.cdp.contacts.list({ query: { limit: 1_000 } });
    await expect(all(list)).rejects.toMatchObject({ code: 'invalid_request', field: 'limit' });
  });
});

describe('waiting, in the sandbox', () => {
  const send = (to: string, more: { send_at?: string } = {}) => {
    const channels = [{ channel: 'sms' as const, body: 'Hello' }];
    return account.testClient.messages.send({ body: { to, channels, ...more } });
  };
  let waitFor: TestAccount['client']['waitFor'];
  beforeAll(() => {
    ({ waitFor } = account.testClient);
  });

  it('ends when a message has reached or passed the status', async () => {
    const delivered = await send('+4930901801');
    expect(await waitFor.message(delivered.id, 'delivered')).toMatchObject({ id: delivered.id, status: 'delivered' });
    const read = await send('+4930901802');
    expect(await waitFor.message(read.id, 'read')).toMatchObject({ status: 'read' });
    expect(await waitFor.message(read.id, 'delivered')).toMatchObject({ status: 'read' });
    const failed = await send('+4930901803');
    expect(await waitFor.message(failed.id, 'failed')).toMatchObject({ error: { code: expect.any(String) } });
  });

  it('rejects with the message if it can never reach the status', async () => {
    const { id } = await send('+4930901803');
    const error = await waitFor.message(id, 'delivered').catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(WaitError);
    const message = `message ${id} is failed and can never become delivered`;
    expect(error).toMatchObject({ code: 'wait_ended', message, last: { id, status: 'failed' } });
    const delivered = await send('+4930901801');
    await waitFor.message(delivered.id, 'delivered');
    await expect(waitFor.message(delivered.id, 'cancelled')).rejects.toMatchObject({ code: 'wait_ended' });
  });

  it('rejects at its deadline with the last seen message, or earlier with the reason of its signal', async () => {
    const { now } = await account.testClient.sandbox.clock.get();
    const { id } = await send('+4930901801', { send_at: new Date(Date.parse(now) + 86_400_000).toISOString() });
    const error = { code: 'wait_timed_out', last: { id, status: 'scheduled' } };
    await expect(waitFor.message(id, 'sent', { timeoutMs: 1_000 })).rejects.toMatchObject({
      ...error,
      message: `message ${id} is still scheduled after 1000 ms, not sent`,
    });
    const waiting = new AbortController();
    const wait = waitFor.message(id, 'sent', { signal: waiting.signal });
    waiting.abort(new Error('enough'));
    await expect(wait).rejects.toThrow('enough');
  });

  it('rejects with a refusal, and for an unknown status', async () => {
    const unknown = waitFor.message(crypto.randomUUID(), 'sent');
    await expect(unknown).rejects.toMatchObject({ code: 'not_found' });
    const mistyped = waitFor.message(crypto.randomUUID(), 'deliverd' as never);
    await expect(mistyped).rejects.toThrow(/^waitFor\.message takes a status of scheduled, .*, not deliverd$/);
  });

  it('ends with the clock when it has advanced', async () => {
    const { now } = await account.testClient.sandbox.clock.get();
    const advance_to = new Date(Date.parse(now) + 2 * 86_400_000).toISOString();
    const message = await send('+4930901801', { send_at: new Date(Date.parse(now) + 86_400_000).toISOString() });
    await account.testClient.sandbox.clock.advance({ body: { advance_to } });
    const clock = await waitFor.clock();
    expect(clock.status).toBe('ready');
    expect(Date.parse(clock.now)).toBeGreaterThanOrEqual(Date.parse(advance_to));
    expect(await waitFor.message(message.id, 'delivered', { timeoutMs: 5_000 })).toMatchObject({ id: message.id });
    await expect(account.client.waitFor.clock()).rejects.toMatchObject({ code: 'not_found' });
  });

  it('ends with a knowledge source that is ready', async () => {
    const body = { kind: 'article' as const, title: 'Opening hours', body: 'We open at nine.' };
    const { id } = await account.testClient.agents.knowledge.sources.create({ body });
    expect(await waitFor.source(id)).toMatchObject({ id, status: 'ready' });
  });
});
