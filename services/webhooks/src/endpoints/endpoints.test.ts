import { type Platform, type Receiver, startPlatform, startReceiver } from '@customer-platform/testkit';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { delivery, emitContactCreated, isSignedBy, register } from '../../test/webhooks.ts';

let platform: Platform;
const receivers: Receiver[] = [];

beforeAll(async () => {
  platform = await startPlatform({ services: ['cdp', 'webhooks'] });
});
afterEach(async () => {
  await Promise.all(receivers.splice(0).map((receiver) => receiver.stop()));
});
afterAll(() => platform.stop());

async function receiverOf(): Promise<Receiver> {
  const receiver = await startReceiver();
  receivers.push(receiver);
  return receiver;
}

describe('registering', () => {
  it('returns the endpoint with its secret, which no later response shows', async () => {
    const account = await platform.account();
    const made = await account.request('POST', '/v1/webhooks', {
      body: { url: 'https://example.com/hook', description: 'Ours', events: ['order.*', 'contact.created'] },
    });
    expect(made.status).toBe(201);
    expect(made.body).toMatchObject({
      url: 'https://example.com/hook',
      description: 'Ours',
      events: ['order.*', 'contact.created'],
      active: true,
      disabled_reason: null,
      secret: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/),
    });
    const { secret: _, ...shown } = made.body;
    expect((await account.request('GET', `/v1/webhooks/${made.body.id}`)).body).toEqual(shown);
    expect((await account.request('GET', '/v1/webhooks')).body).toEqual({ data: [shown], has_more: false, next: null });
  });

  it.each([
    ['http://example.com/', /^url must begin with https/],
    ['https://10.0.0.1/', /^url leads to 10\.0\.0\.1 \(private\)/],
    ['https://0x7f.1.example/', null],
    ['https://2852039166/', /^url leads to 169\.254\.169\.254 \(link-local\)/],
    ['https://[::ffff:10.0.0.1]/', /^url leads to .* \(IPv4-mapped\)/],
    ['https://user:pw@example.com/', /^url must not contain a user/],
    ['hook', /^url must be an absolute URL/],
    [`https://example.com/${'a'.repeat(2029)}`, /^url must be a string of 1 to 2048 characters/],
  ])('%s is judged', async (url, message) => {
    const account = await platform.account();
    const { status, body } = await account.request('POST', '/v1/webhooks', { body: { url } });
    if (message === null) expect(status).toBe(201);
    else
      expect([status, body.error]).toEqual([400, expect.objectContaining({ field: 'url', code: 'invalid_request' })]);
    if (message !== null) expect(body.error.message).toMatch(message);
  });

  it.each([
    ['url', {}],
    ['events', { url: 'https://example.com/', events: ['Order'] }],
    ['events', { url: 'https://example.com/', events: [] }],
    ['events', { url: 'https://example.com/', events: ['order.declined', 'order.lost'] }],
    ['events', { url: 'https://example.com/', events: ['orders.*'] }],
    ['description', { url: 'https://example.com/', description: 'x'.repeat(501) }],
    ['active', { url: 'https://example.com/', active: 'yes' }],
  ])('a wrong %s is refused by name', async (field, body) => {
    const account = await platform.account();
    const response = await account.request('POST', '/v1/webhooks', { body });
    expect([response.status, response.body.error.code, response.body.error.field]).toEqual([
      400,
      'invalid_request',
      field,
    ]);
  });

  it('twenty concurrent requests succeed, the others get 409 invalid_state', async () => {
    const account = await platform.account();
    const asked = Array.from({ length: 30 }, () =>
      account.request('POST', '/v1/webhooks', { body: { url: 'https://93.184.216.34/' } }),
    );
    const responses = await Promise.all(asked);
    const refused = responses.filter((response) => response.status === 409);
    expect(responses.filter((response) => response.status === 201)).toHaveLength(20);
    expect(refused.map((response) => response.body.error.code)).toEqual(Array(10).fill('invalid_state'));
    const first = responses.find((response) => response.status === 201)!;
    expect((await account.request('DELETE', `/v1/webhooks/${first.body.id}`)).status).toBe(204);
    const again = await account.request('POST', '/v1/webhooks', { body: { url: 'https://93.184.216.34/' } });
    expect(again.status).toBe(201);
  });

  it('the same Idempotency-Key registers once and shows the same secret again', async () => {
    const account = await platform.account();
    const send = () =>
      account.request('POST', '/v1/webhooks', {
        body: { url: 'https://example.com/' },
        headers: { 'Idempotency-Key': 'one' },
      });
    const [first, second] = [await send(), await send()];
    expect(second.text).toBe(first.text);
    expect(second.headers.get('idempotent-replayed')).toBe('true');
    expect((await account.client.webhooks.list()).data).toHaveLength(1);
  });
});

describe('reading and changing', () => {
  it('lists newest first, page by page', async () => {
    const account = await platform.account();
    const ids: string[] = [];
    for (let i = 0; i < 5; i++) ids.unshift((await register(account, `https://93.184.216.34/${i}`)).id);
    const first = await account.client.webhooks.list({ query: { limit: 3 } });
    expect([first.data.map((one) => one.id), first.has_more, first.next]).toEqual([ids.slice(0, 3), true, ids[2]]);
    const rest = await account.client.webhooks.list({ query: { limit: 3, starting_after: first.next! } });
    expect([rest.data.map((one) => one.id), rest.has_more, rest.next]).toEqual([ids.slice(3), false, null]);
    for (const cursor of ['', 'x', crypto.randomUUID()]) {
      const { status, body } = await account.request('GET', `/v1/webhooks?starting_after=${cursor}`);
      expect([status, body.error.field]).toEqual([400, 'starting_after']);
    }
  });

  it('an endpoint of another account is not found by any operation', async () => {
    const [owner, other] = [await platform.account(), await platform.account()];
    const { id } = await register(owner, 'https://93.184.216.34/');
    const requests = [
      ['GET', ''],
      ['PATCH', ''],
      ['DELETE', ''],
      ['POST', '/rotate-secret'],
      ['POST', '/test'],
      ['GET', '/deliveries'],
      ['POST', '/replay'],
    ] as const;
    for (const [method, path] of requests) {
      const { status, body } = await other.request(method, `/v1/webhooks/${id}${path}`);
      expect([method, path, status, body.error.code]).toEqual([method, path, 404, 'not_found']);
    }
    expect((await owner.client.webhooks.get({ params: { endpoint_id: id } })).id).toBe(id);
  });

  it('PATCH changes the given fields; an empty body or the same values change nothing', async () => {
    const account = await platform.account();
    const made = await register(account, 'https://93.184.216.34/a');
    const params = { endpoint_id: made.id };
    const same = await account.client.webhooks.update({ params, body: { url: made.url, events: ['*'] } });
    const empty = await account.client.webhooks.update({ params, body: {} });
    expect([same.updated_at, empty.updated_at]).toEqual([made.updated_at, made.updated_at]);
    const body = { url: 'https://93.184.216.34/b', description: 'New', events: ['deal.*'], active: false };
    const changed = await account.client.webhooks.update({ params, body });
    expect(changed).toMatchObject({ ...body, disabled_reason: null });
    expect(changed.updated_at).not.toBe(made.updated_at);
    const refused = await account.request('PATCH', `/v1/webhooks/${made.id}`, { body: { url: 'https://10.0.0.1/' } });
    expect([refused.status, refused.body.error.field]).toEqual([400, 'url']);
  });

  it('deleting returns 204, then 404, and pending deliveries fail as endpoint_deleted', async () => {
    const account = await platform.account();
    const receiver = await receiverOf();
    receiver.respond = (_, response) => response.writeHead(500).end();
    const { id } = await register(account, receiver.url);
    await emitContactCreated(account);
    await delivery(account, id, (one) => one.tries.length === 1);
    expect((await account.request('DELETE', `/v1/webhooks/${id}`)).status).toBe(204);
    expect((await account.request('DELETE', `/v1/webhooks/${id}`)).status).toBe(404);
    expect((await account.request('GET', `/v1/webhooks/${id}/deliveries`)).status).toBe(404);
    const sql = platform.database('webhooks');
    const rows = await sql`select status, reason, next_try_at from deliveries where endpoint_id = ${id}`;
    expect([...rows]).toEqual([{ status: 'failed', reason: 'endpoint_deleted', next_try_at: null }]);
  });
});

describe('rotating the secret', () => {
  it('both secrets sign during the overlap, only the new one afterwards', async () => {
    const account = await platform.account();
    const receiver = await receiverOf();
    const made = await register(account, receiver.url);
    const params = { endpoint_id: made.id };
    const { secret } = await account.client.webhooks.rotateSecret({ params, body: { overlap_seconds: 60 } });
    expect(secret).not.toBe(made.secret);
    await account.client.webhooks.test({ params });
    const during = await receiver.next();
    expect([isSignedBy(secret, during), isSignedBy(made.secret, during)]).toEqual([true, true]);
    platform.clock.advance(61_000);
    await account.client.webhooks.test({ params });
    const after = await receiver.next((request) => request !== during);
    expect([isSignedBy(secret, after), isSignedBy(made.secret, after)]).toEqual([true, false]);
  });

  it('without an overlap the old secret stops signing', async () => {
    const account = await platform.account();
    const receiver = await receiverOf();
    const made = await register(account, receiver.url);
    const params = { endpoint_id: made.id };
    const { secret } = await account.client.webhooks.rotateSecret({ params, body: { overlap_seconds: 0 } });
    await account.client.webhooks.test({ params });
    const request = await receiver.next();
    expect([isSignedBy(secret, request), isSignedBy(made.secret, request)]).toEqual([true, false]);
  });

  it.each([-1, 604_801, 1.5])('an overlap of %d seconds is refused', async (overlap_seconds) => {
    const account = await platform.account();
    const { id } = await register(account, 'https://93.184.216.34/');
    const { status, body } = await account.request('POST', `/v1/webhooks/${id}/rotate-secret`, {
      body: { overlap_seconds },
    });
    expect([status, body.error.field]).toEqual([400, 'overlap_seconds']);
  });
});

describe('testing', () => {
  it('sends webhook.test to this endpoint whatever its filter, and to no other', async () => {
    const account = await platform.account();
    const [one, other] = [await receiverOf(), await receiverOf()];
    const { secret: _, ...endpoint } = await register(account, one.url, { events: ['deal.won'] });
    const all = await register(account, other.url);
    const sent = await account.client.webhooks.test({ params: { endpoint_id: endpoint.id } });
    expect(sent).toMatchObject({ event: 'webhook.test', status: 'pending', tries: [] });
    const request = await one.next();
    expect(JSON.parse(request.body)).toEqual(sent.payload);
    expect(sent.payload).toMatchObject({ type: 'webhook.test', account: account.id, data: { webhook: endpoint } });
    const done = await delivery(account, endpoint.id, (found) => found.id === sent.id && found.status === 'delivered');
    expect(done.tries).toHaveLength(1);
    // A later event has arrived, so the test would have reached the other endpoint.
    await platform.event(account.id, 'webhook.test');
    await emitContactCreated(account);
    await other.next();
    expect(other.received.map((got) => JSON.parse(got.body).type)).toEqual(['contact.created']);
    expect(await delivery(account, all.id)).toMatchObject({ event: 'contact.created' });
  });

  it('a disabled endpoint creates a skipped delivery', async () => {
    const account = await platform.account();
    const { id } = await register(account, 'https://93.184.216.34/', { active: false });
    const sent = await account.client.webhooks.test({ params: { endpoint_id: id } });
    expect(sent).toMatchObject({ status: 'skipped', reason: 'endpoint_disabled', next_try_at: null });
  });
});
