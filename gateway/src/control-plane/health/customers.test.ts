import { randomUUID } from 'node:crypto';
import type { AccountHealth, CustomerAttention } from '@customer-platform/contracts/accounts';
import {
  type Platform,
  type Receiver,
  rawRequest,
  startPlatform,
  startReceiver,
  type TestAccount,
  waitFor,
} from '@customer-platform/testkit';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';

let platform: Platform;
let provider: Receiver;
let account: TestAccount;

beforeAll(async () => {
  platform = await startPlatform({
    services: ['crm', 'messaging', 'webhooks'],
    env: { TRUSTED_PROXIES: '127.0.0.1' },
  });
  provider = await startReceiver();
});
afterAll(async () => {
  await Promise.all([platform?.stop(), provider?.stop()]);
});
beforeEach(async () => {
  account = await platform.account();
  provider.respond = (_request, response) => response.writeHead(422).end('{"error":"no such route"}');
});

const ago = (ms: number) => new Date(platform.clock.now().getTime() - ms).toISOString();
const params = { channel: 'sms' as const };

async function healthOf(id = account.id): Promise<AccountHealth> {
  const { status, body } = await platform.admin('GET', `/admin/accounts/${id}/health`);
  expect(status).toBe(200);
  return body;
}

/** Waits until the health matches. Counts are up to 10 s late. */
const healthy = (what: string, matches: (health: AccountHealth) => boolean) =>
  waitFor(
    what,
    async () => {
      const health = await healthOf();
      return matches(health) && health;
    },
    30_000,
  );

async function attention(): Promise<CustomerAttention> {
  const { status, body } = await platform.admin('GET', '/admin/attention');
  expect(status).toBe(200);
  return body;
}

const setChannel = () =>
  account.client.putChannel({ params, body: { provider: 'http', settings: { url: provider.url } } });
const send = (to: string) =>
  account.client.sendMessage({ body: { to, channels: [{ channel: 'sms', body: 'Hello' }] } });
const sendMany = (count: number) =>
  Promise.all(Array.from({ length: count }, (_none, n) => send(`+493090182${String(n).padStart(2, '0')}`)));
const failed = (health: AccountHealth) => health.messages.failed_24h.reduce((sum, { count }) => sum + count, 0);

describe('the health of an account', () => {
  it('of an unused account is empty, and names the services that do not reply', async () => {
    expect(await healthOf()).toEqual({
      requests: { last_hour: { total: 0, by_code: {} } },
      rate_limit: { per_minute: expect.any(Number), burst: expect.any(Number) },
      keys: [],
      messages: { failed_24h: [], channels: [] },
      endpoints: [],
      plans: { failed_24h: 0, last_error: null },
      modules_off: [],
      suspended: false,
      gone: ['agents'],
    });
    expect((await healthOf(account.sandboxId)).suspended).toBe(false);
    expect((await platform.admin('GET', `/admin/accounts/${randomUUID()}/health`)).status).toBe(404);
  });

  it('counts the requests of the last hour by error code, and shows their keys and addresses', async () => {
    account = await platform.account({ rate_limit: { per_minute: 1, burst: 3 }, modules: { crm: { on: false } } });
    const get = (path: string, from: string) =>
      rawRequest(platform.gatewayUrl, 'GET', path, { key: account.key, headers: { 'x-forwarded-for': from } });
    const sent = [
      await get('/v1/me', '203.0.113.1'),
      await get('/v1/crm/deals', '203.0.113.2'),
      await get('/v1/messages?limit=0', '203.0.113.1'),
      await get('/v1/me', '203.0.113.1'),
    ];
    expect(sent.map(({ status }) => status)).toEqual([200, 404, 400, 429]);
    const health = await healthy('the counts', ({ requests }) => requests.last_hour.total === 4);
    expect(health.requests.last_hour.by_code).toEqual({ module_off: 1, invalid_request: 1, rate_limited: 1 });
    const id = expect.any(String);
    const working = { rate_limit: null, ended_at: null };
    const addresses = ['203.0.113.1', '203.0.113.2'];
    expect(health.keys).toEqual([
      { ...working, id, name: expect.any(String), last4: account.key.slice(-4), requests: 4, limited: 1, addresses },
    ]);
    expect(health.modules_off).toEqual(['crm']);
  });

  it('shows the end of a rotated key that is still in use, and its own rate limit', async () => {
    const rate_limit = { per_minute: 600, burst: 100 };
    const wanted = { name: 'shop', mode: 'live', scopes: ['*'], rate_limit };
    const { body: created } = await platform.admin('POST', `/admin/accounts/${account.id}/keys`, wanted);
    await platform.admin('POST', `/admin/keys/${created.id}/rotate`, { overlap_seconds: 0 });
    const call = () => rawRequest(platform.gatewayUrl, 'GET', '/v1/me', { key: created.key });
    await waitFor('it to end', async () => (await call()).status === 401);
    const { keys } = await healthy('the counts', (health) => health.keys.some(({ id }) => id === created.id));
    const ended = { name: 'shop', rate_limit, ended_at: expect.any(String), limited: 0 };
    expect(keys.find(({ id }) => id === created.id)).toMatchObject(ended);
  });

  it('names the modules outside the plan, and a suspension', async () => {
    const plan = { name: 'small', modules: ['calendar', 'crm'] };
    await platform.admin('PATCH', `/admin/accounts/${account.id}`, { plan, status: 'suspended' });
    expect(await healthOf()).toMatchObject({ modules_off: ['agents', 'cdp', 'catalogue'], suspended: true });
  });

  it('groups failed messages by channel and code, without those sent again', async () => {
    await setChannel();
    await sendMany(3);
    const { messages } = await healthy('them to fail', (health) => failed(health) === 3);
    expect(messages).toEqual({
      failed_24h: [
        {
          channel: 'sms',
          code: 'rejected',
          count: 3,
          last_at: expect.any(String),
          last_error: 'The provider responded with 422: no such route',
        },
      ],
      channels: [{ channel: 'sms', provider: 'http', status: 'ready', error: null, failing_since: null, held: 0 }],
    });
    provider.respond = (_request, response) => response.writeHead(200).end('{"id":"p"}');
    const resend = (body: object) => platform.admin('POST', `/admin/accounts/${account.id}/messages/resend`, body);
    const since = ago(3_600_000);
    expect((await resend({ since, code: 'unavailable' })).body).toEqual({ matched: 0 });
    const resent = await resend({ since, reason: 'their provider is back' });
    expect([resent.status, resent.body]).toEqual([202, { matched: 3 }]);
    await healthy('them to be sent again', (health) => failed(health) === 0);
    const { body: audit } = await platform.admin('GET', `/admin/audit?account=${account.id}`);
    expect(audit.data[0]).toMatchObject({
      action: 'messages.resend',
      target: `accounts/${account.id}`,
      reason: 'their provider is back',
      after: { since, matched: 3 },
    });
    // A change without effect is not recorded.
    expect(audit.data[1].action).not.toBe('messages.resend');
  });

  it('resends nothing for an invalid period or an unknown account', async () => {
    const resend = async (id: string, body: object) => {
      const response = await platform.admin('POST', `/admin/accounts/${id}/messages/resend`, body);
      return [response.status, response.body.error.code, response.body.error.field];
    };
    const since = ago(3_600_000);
    expect(await resend(account.id, {})).toEqual([400, 'invalid_request', 'since']);
    expect(await resend(account.id, { since: ago(8 * 86_400_000) })).toEqual([400, 'invalid_request', 'since']);
    expect(await resend(account.id, { since, until: since })).toEqual([400, 'invalid_request', 'until']);
    expect(await resend(account.id, { since, reason: ' ' })).toEqual([400, 'invalid_request', 'reason']);
    expect(await resend(randomUUID(), { since })).toEqual([404, 'not_found', undefined]);
  });

  it('shows a channel whose provider refuses the credentials, and endpoints with failed deliveries', async () => {
    provider.respond = (_request, response) => response.writeHead(401).end('{"error":"the token has expired"}');
    await setChannel();
    await send('+4930901810');
    const receiver = await startReceiver();
    receiver.respond = (_request, response) => response.writeHead(410).end();
    const { id } = await account.client.createEndpoint({ body: { url: receiver.url, events: ['deal.created'] } });
    await account.client.createDeal({ body: { title: 'a deal' } });
    const isDone = ({ messages, endpoints }: AccountHealth) =>
      messages.channels[0]?.status === 'failing' && endpoints[0]?.active === false && endpoints[0].failed_24h === 1;
    const { messages, endpoints } = await healthy('both to fail', isDone);
    await receiver.stop();
    const error = 'The provider responded with 401: the token has expired';
    const failing = { status: 'failing', error, failing_since: expect.any(String), held: 1 };
    expect(messages.channels).toEqual([{ channel: 'sms', provider: 'http', ...failing }]);
    expect(endpoints).toEqual([
      {
        id,
        url: receiver.url,
        active: false,
        paused: false,
        disabled_reason: 'The endpoint responded with 410 Gone.',
        failing_since: expect.any(String),
        pending: 0,
        failed_24h: 1,
      },
    ]);
    const { channels, endpoints: disabled } = await attention();
    expect(channels).toContainEqual({
      account: account.id,
      account_name: expect.any(String),
      channel: 'sms',
      provider: 'http',
      error,
      failing_since: expect.any(String),
    });
    expect(disabled).toContainEqual(
      expect.objectContaining({ id, account: account.id, account_name: 'Test', active: false }),
    );
    platform.clock.advance(25 * 3_600_000);
    expect((await attention()).endpoints.map((endpoint) => endpoint.id)).not.toContain(id);
    expect((await healthOf()).endpoints).toMatchObject([{ id, failed_24h: 0 }]);
  });
});

describe('the attention list', () => {
  const ours = async () => (await attention()).accounts.find((one) => one.account === account.id);

  it('has accounts with more than 20 failed messages, until they are sent again', async () => {
    await setChannel();
    await sendMany(20);
    await healthy('20 to fail', (health) => failed(health) === 20);
    expect(await ours()).toBeUndefined();
    await send('+4930901899');
    await healthy('one more to fail', (health) => failed(health) === 21);
    expect(await ours()).toMatchObject({ account_name: 'Test', failed_messages: 21, reasons: ['messages'] });
    provider.respond = (_request, response) => response.writeHead(200).end('{"id":"p"}');
    const body = { since: ago(3_600_000) };
    await platform.admin('POST', `/admin/accounts/${account.id}/messages/resend`, body);
    await healthy('them to be sent again', (health) => failed(health) === 0);
    expect(await ours()).toBeUndefined();
  });

  it('has accounts that call a module that is off', async () => {
    await platform.admin('PATCH', `/admin/accounts/${account.id}`, { modules: { crm: { on: false } } });
    const call = () => rawRequest(platform.gatewayUrl, 'GET', '/v1/crm/deals', { key: account.key });
    await waitFor('the module to be off', async () => (await call()).status === 404);
    await Promise.all(Array.from({ length: 50 }, call));
    await waitFor('the counts', async () => (await ours()) !== undefined, 30_000);
    expect(await ours()).toMatchObject({ reasons: ['modules'] });
  });

  it('has accounts with more than 5 % of at least 50 requests refused, not counting 404 not_found', async () => {
    const [some, few, little, unfound] = await Promise.all(Array.from({ length: 4 }, () => platform.account()));
    const many = (of: TestAccount, count: number, path: string) =>
      Promise.all(Array.from({ length: count }, () => rawRequest(platform.gatewayUrl, 'GET', path, { key: of.key })));
    const sent: [TestAccount, fine: number, refused: number, unfound: number][] = [
      [some!, 56, 3, 0],
      [few!, 57, 3, 0],
      [little!, 0, 49, 0],
      [unfound!, 30, 0, 30],
    ];
    for (const [of, fine, refused, none] of sent) {
      await many(of, fine, '/v1/me');
      await many(of, refused, '/v1/crm/deals?limit=0');
      await many(of, none, '/v1/crm/deals/none');
    }
    const totals = async () =>
      await Promise.all(sent.map(async ([of]) => (await healthOf(of.id)).requests.last_hour.total));
    await waitFor('the counts', async () => `${await totals()}` === '59,60,49,60', 30_000);
    const ids = sent.map(([of]) => of.id);
    const listed = async () => (await attention()).accounts.filter((one) => ids.includes(one.account));
    const counts = { failed_messages: 0, requests: 59, refused: 3, reasons: ['refusals'] };
    expect(await listed()).toEqual([{ account: some!.id, account_name: 'Test', ...counts }]);
    platform.clock.advance(3_700_000);
    expect(await listed()).toEqual([]);
  });

  it('has addresses with more than 100 invalid keys within a minute', async () => {
    const wrong = 'cp_live_0000000000000000000000000000000000000000';
    const from = (address: string) => ({ key: wrong, headers: { 'x-forwarded-for': address } });
    const invalid = (address: string) => rawRequest(platform.gatewayUrl, 'GET', '/v1/me', from(address));
    const flood = (count: number, address: string) =>
      Promise.all(Array.from({ length: count }, () => invalid(address)));
    await flood(101, '198.51.100.1');
    await flood(100, '198.51.100.2');
    expect((await attention()).addresses).toEqual([
      { address: '198.51.100.1', invalid_keys: 101, last_at: expect.any(String) },
    ]);
  });

  it('works without its services, and names them', async () => {
    const alone = await startPlatform({ services: [] });
    try {
      const { status, body } = await alone.admin('GET', '/admin/attention');
      const gone = ['messaging', 'webhooks'];
      expect([status, body]).toEqual([200, { channels: [], accounts: [], endpoints: [], addresses: [], gone }]);
    } finally {
      await alone.stop();
    }
  });
});
