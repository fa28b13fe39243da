import { randomUUID } from 'node:crypto';
import { openDatabase } from '@customer-platform/service-kit';
import {
  type Platform,
  type RawResponse,
  type RequestOptions,
  rawRequest,
  startPlatform,
  type TestAccount,
  waitFor,
} from '@customer-platform/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startGateway } from '../main.ts';

let platform: Platform;
let second: Awaited<ReturnType<typeof startGateway>>;
beforeAll(async () => {
  platform = await startPlatform({ services: [] });
  second = await startGateway(platform.env('gateway'));
}, 60_000);
afterAll(async () => {
  await second?.stop();
  await platform?.stop();
});

const own = ['account:read', 'account:write'];
const wanted = { name: 'Website', mode: 'live', scopes: ['calendar:read'] };
const make = (account: TestAccount, body: object = {}, options: RequestOptions = {}) =>
  account.request('POST', '/v1/keys', { ...options, body: { ...wanted, ...body } });
const rotate = (account: TestAccount, id: string, options: RequestOptions = {}) =>
  account.request('POST', `/v1/keys/${id}/rotate`, { body: {}, ...options });
const statusOf = async (key: string, url = platform.gatewayUrl) =>
  (await rawRequest(url, 'GET', '/v1/me', { key })).status;
const idOf = async (account: TestAccount, key = account.key) => {
  const { body } = await account.request('GET', '/v1/keys');
  return body.data.find(({ last4 }: { last4: string }) => key.endsWith(last4)).id as string;
};

function expectRefusal(response: RawResponse, status: number, code: string, field?: string): void {
  expect({ status: response.status, ...response.body.error }).toMatchObject({
    status,
    code,
    ...(field && { field }),
  });
}

describe('a key created by another key', () => {
  it('is shown once, works at once, and is listed with the others', async () => {
    const account = await platform.account();
    const made = await make(account, { allowed_addresses: ['127.0.0.0/8'], expires_at: '2199-01-01T00:00:00Z' });
    expect(made.status).toBe(201);
    const { key, ...shown } = made.body;
    expect(key).toMatch(/^cp_live_[0-9A-Za-z]{40}$/);
    expect(shown).toEqual({
      ...wanted,
      id: expect.any(String),
      allowed_addresses: ['127.0.0.0/8'],
      rate_limit: null,
      last4: key.slice(-4),
      created_at: expect.any(String),
      last_used_at: null,
      expires_at: '2199-01-01T01:00:00+01:00',
      revoked_at: null,
    });
    const me = await rawRequest(platform.gatewayUrl, 'GET', '/v1/me', { key });
    expect(me.body).toMatchObject({ account: { id: account.id }, mode: 'live', scopes: ['calendar:read'] });
    const { body, text } = await account.request('GET', '/v1/keys');
    expect(body).toMatchObject({ data: [{ id: shown.id }, { mode: 'test' }, { mode: 'live' }], has_more: false });
    expect(text).not.toContain(key);
  });

  it('has at most the scopes of its creator: 400 names the scopes beyond them', async () => {
    const account = await platform.account();
    const key = await platform.issueKey(account.id, { scopes: [...own, 'calendar:read'] });
    expect((await make(account, { scopes: ['calendar:read', 'account:write'] }, { key })).status).toBe(201);
    for (const scopes of [['calendar:read', 'calendar:write'], ['*']]) {
      const refused = await make(account, { scopes }, { key });
      expectRefusal(refused, 400, 'invalid_request', 'scopes');
      expect(refused.body.error.message).toContain(scopes.at(-1));
    }
    expect((await make(account, { scopes: ['*'] })).status).toBe(201);
  });

  it('is a test key if a test key creates it, and acts on the same sandbox; a live key creates both', async () => {
    const account = await platform.account();
    for (const key of [account.key, account.testKey]) {
      const made = await make(account, { mode: 'test' }, { key });
      const me = await rawRequest(platform.gatewayUrl, 'GET', '/v1/me', { key: made.body.key });
      expect(me.body).toMatchObject({ account: { id: account.sandboxId }, mode: 'test' });
    }
    expectRefusal(await make(account, {}, { key: account.testKey }), 400, 'invalid_request', 'mode');
  });

  it('with an invalid field is refused, and the error names the field', async () => {
    const account = await platform.account();
    const wrong: [object, string][] = [
      [{ name: ' ' }, 'name'],
      [{ mode: 'other' }, 'mode'],
      [{ scopes: [] }, 'scopes'],
      [{ scopes: ['calendar:all'] }, 'scopes'],
      [{ allowed_addresses: ['300.1.1.1'] }, 'allowed_addresses'],
      [{ expires_at: '2020-01-01T00:00:00Z' }, 'expires_at'],
    ];
    for (const [body, field] of wrong) expectRefusal(await make(account, body), 400, 'invalid_request', field);
  });

  it("expires by real time, independently of the sandbox's clock", async () => {
    const account = await platform.account();
    const advance_to = new Date(platform.clock.now().getTime() + 86_400_000).toISOString();
    const options = { key: account.testKey };
    await account.request('POST', '/v1/sandbox/clock', { ...options, body: { advance_to } });
    await waitFor('the clock to be there', async () => {
      const { body } = await account.request('GET', '/v1/sandbox/clock', options);
      return body.status === 'ready';
    });
    const expires_at = new Date(platform.clock.now().getTime() + 3_600_000).toISOString();
    const { status, body } = await make(account, { mode: 'test', expires_at }, options);
    expect([status, await statusOf(body.key)]).toEqual([201, 200]);
    expect(Date.parse(body.created_at)).toBeLessThan(Date.parse(expires_at));
  });
});

it('an account may create keys until 1,000 of a mode are active: then creating and rotating are 409, until one is revoked', async () => {
  const account = await platform.account();
  const sql = openDatabase(platform.env('gateway').DATABASE_URL!, { pool: 1, service: 'gateway' });
  try {
    // Together with the live key of every account these are 999.
    await sql`
      insert into keys (account_id, name, mode, scopes, allowed_addresses, hash, last4, created_at)
      select ${account.id}, 'Shop ' || n, 'live', '{calendar:read}', '{}', sha256((${account.id} || n)::bytea), 'abcd', now()
      from generate_series(1, 998) as n`;
  } finally {
    await sql.end();
  }
  const last = await make(account);
  expect(last.status).toBe(201);
  expectRefusal(await make(account), 409, 'invalid_state');
  expectRefusal(await rotate(account, last.body.id), 409, 'invalid_state');
  expect((await make(account, { mode: 'test' })).status).toBe(201);
  await account.request('DELETE', `/v1/keys/${last.body.id}`);
  expect((await make(account)).status).toBe(201);
});

describe('a repeated Idempotency-Key', () => {
  it('gets the same key again, which is stored encrypted', async () => {
    const account = await platform.account();
    const headers = { 'idempotency-key': randomUUID() };
    const made = await make(account, {}, { headers });
    const rotated = await rotate(account, made.body.id, { headers });
    const again = [await make(account, {}, { headers }), await rotate(account, made.body.id, { headers })];
    expect(again.map(({ status, text }) => [status, text])).toEqual([made, rotated].map(({ text }) => [201, text]));
    for (const { headers: received } of again) expect(received.get('idempotent-replayed')).toBe('true');
    expectRefusal(await make(account, { name: 'x' }, { headers }), 400, 'invalid_request', 'Idempotency-Key');
    const sql = openDatabase(platform.env('gateway').DATABASE_URL!, { pool: 1, service: 'gateway' });
    try {
      const rows = await sql<{ answer: string }[]>`select answer from idempotency where account_id = ${account.id}`;
      expect(rows).toHaveLength(2);
      for (const { answer } of rows) for (const { body } of [made, rotated]) expect(answer).not.toContain(body.key);
    } finally {
      await sql.end();
    }
  });

  it('shows no key that has scopes beyond those of the repeating key: 403', async () => {
    const account = await platform.account();
    const key = await platform.issueKey(account.id, { scopes: own });
    const headers = { 'idempotency-key': randomUUID() };
    const made = await make(account, {}, { headers });
    await rotate(account, made.body.id, { headers });
    expectRefusal(await make(account, {}, { headers, key }), 403, 'scope_missing');
    expectRefusal(await rotate(account, made.body.id, { headers, key }), 403, 'scope_missing');
    expect((await make(account, {}, { headers })).text).toBe(made.text);
  });
});

it("a key created by another has that key's rate limit, if an operator set one", async () => {
  const account = await platform.account();
  const rate_limit = { per_minute: 60, burst: 7 };
  const key = await platform.issueKey(account.id, { scopes: own, rate_limit });
  expect((await make(account, { scopes: own }, { key })).body.rate_limit).toEqual(rate_limit);
});

describe('a rotation', () => {
  it('issues a key with the same rights and expiry, and the old key works for the overlap', async () => {
    const account = await platform.account();
    const rights = { ...wanted, allowed_addresses: ['127.0.0.1'], rate_limit: { per_minute: 60, burst: 7 } };
    const expires_at = '2199-01-01T01:00:00+01:00';
    const old = await platform.issueKey(account.id, { ...rights, expires_at });
    const id = await idOf(account, old);
    const { status, body } = await rotate(account, id, { body: { overlap_seconds: 60 } });
    expect([status, body]).toEqual([201, expect.objectContaining({ ...rights, expires_at })]);
    expect(body.id).not.toBe(id);
    expect([await statusOf(old), await statusOf(body.key)]).toEqual([200, 200]);
    const { data } = (await account.request('GET', '/v1/keys')).body;
    const end = data.find((each: { id: string }) => each.id === id).expires_at;
    expect(Date.parse(end)).toBeLessThanOrEqual(platform.clock.now().getTime() + 60_000);
    expectRefusal(await rotate(account, id, { body: { overlap_seconds: 604_801 } }), 400, 'invalid_request');
  });

  it("of the request's own key ends it at once without an overlap", async () => {
    const account = await platform.account();
    const { body } = await rotate(account, await idOf(account), { body: { overlap_seconds: 0 } });
    expect([await statusOf(account.key), await statusOf(body.key)]).toEqual([401, 200]);
  });

  it('of a revoked key is 409', async () => {
    const account = await platform.account();
    const { id } = (await make(account)).body;
    await account.request('DELETE', `/v1/keys/${id}`);
    expectRefusal(await rotate(account, id), 409, 'invalid_state');
  });
});

it('a key revokes keys of its account, including itself: 204, again 204, and on every gateway', async () => {
  const account = await platform.account();
  const other = (await make(account)).body;
  const key = await platform.issueKey(account.id, { scopes: [...own, 'calendar:read'] });
  expect([await statusOf(key, second.url), await statusOf(other.key, second.url)]).toEqual([200, 200]);
  for (const id of [other.id, other.id, await idOf(account, key)]) {
    const { status, text } = await account.request('DELETE', `/v1/keys/${id}`, { key });
    expect([status, text]).toEqual([204, '']);
  }
  expect([await statusOf(key), await statusOf(other.key)]).toEqual([401, 401]);
  for (const revoked of [key, other.key])
    await waitFor('the other gateway', async () => (await statusOf(revoked, second.url)) === 401, 1_500);
});

it('a key cannot rotate or revoke a key with more scopes: 403', async () => {
  const account = await platform.account();
  const key = await platform.issueKey(account.id, { scopes: [...own, 'calendar:read'] });
  const wider = [account.key, await platform.issueKey(account.id, { scopes: ['calendar:write'] })];
  for (const one of wider) {
    const id = await idOf(account, one);
    expectRefusal(await rotate(account, id, { key }), 403, 'scope_missing');
    expectRefusal(await account.request('DELETE', `/v1/keys/${id}`, { key }), 403, 'scope_missing');
    expect(await statusOf(one)).toBe(200);
  }
});

it("another account's key does not exist, and for a test key no live key exists: 404", async () => {
  const [account, other] = [await platform.account(), await platform.account()];
  const theirs = await idOf(other);
  for (const [id, key] of [
    [theirs, account.key],
    [await idOf(account), account.testKey],
    ['nope', account.key],
  ] as const) {
    expectRefusal(await rotate(account, id, { key }), 404, 'not_found');
    expectRefusal(await account.request('DELETE', `/v1/keys/${id}`, { key }), 404, 'not_found');
  }
  expect([await statusOf(other.key), await statusOf(account.key)]).toEqual([200, 200]);
});

it('keys are listed newest first, page by page; a test key lists test keys only', async () => {
  const account = await platform.account();
  const made: string[] = [];
  for (const mode of ['test', 'live', 'test']) made.unshift((await make(account, { mode })).body.id);
  const page = async (query: string, key = account.key) =>
    (await account.request('GET', `/v1/keys?${query}`, { key })).body;
  const first = await page('limit=2');
  const rest = await page(`limit=100&starting_after=${first.next}`);
  const ids = [...first.data, ...rest.data].map(({ id }: { id: string }) => id);
  expect([ids.slice(0, 3), ids.length]).toEqual([made, 5]);
  const tests = await page('', account.testKey);
  expect(tests.data.map(({ id }: { id: string }) => id)).toEqual([made[0], made[2], expect.any(String)]);
  expect(new Set(tests.data.map(({ mode }: { mode: string }) => mode))).toEqual(new Set(['test']));
  const notListed = await page(`starting_after=${made[1]}`, account.testKey);
  expect(notListed.error).toMatchObject({ code: 'invalid_request', field: 'starting_after' });
});

it('the audit log names the key that created, rotated or revoked another, and contains no secret', async () => {
  const account = await platform.account();
  const made = (await make(account)).body;
  const successor = (await rotate(account, made.id)).body;
  await account.request('DELETE', `/v1/keys/${made.id}`);
  const actor = `key:…${account.key.slice(-4)}`;
  const { body, text } = await platform.admin(
    'GET',
    `/admin/audit?account=${account.id}&actor=${encodeURIComponent(actor)}`,
  );
  const target = `keys/${made.id}`;
  expect(body.data).toMatchObject([
    { action: 'keys.revoke', actor, target, before: { name: 'Website', last4: made.last4 } },
    { action: 'keys.rotate', actor, target, after: { successor: successor.id } },
    { action: 'keys.create', actor, target, after: { scopes: wanted.scopes } },
  ]);
  for (const { key } of [made, successor]) expect(text).not.toContain(key);
});

it('reading needs account:read and changes need account:write; * has both, and a suspended account neither', async () => {
  const account = await platform.account();
  const [reader, writer] = await Promise.all(own.map((scope) => platform.issueKey(account.id, { scopes: [scope] })));
  const list = (key: string) => account.request('GET', '/v1/keys', { key });
  expect([(await list(reader!)).status, (await list(account.key)).status]).toEqual([200, 200]);
  expectRefusal(await list(writer!), 403, 'scope_missing');
  expectRefusal(await make(account, {}, { key: reader! }), 403, 'scope_missing');
  await platform.admin('PATCH', `/admin/accounts/${account.id}`, { status: 'suspended' });
  expectRefusal(await list(account.key), 403, 'account_suspended');
  expectRefusal(await make(account), 403, 'account_suspended');
});
