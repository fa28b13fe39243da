import { createHash, randomUUID } from 'node:crypto';
import { adminOperations, findMembers, getMember } from '@customer-platform/contracts/accounts';
import { getAccountContext, type Operation } from '@customer-platform/contracts/core';
import { Bus, createLogger } from '@customer-platform/service-kit';
import { type Platform, type RawResponse, rawRequest, startPlatform } from '@customer-platform/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import postgres from 'postgres';

const unknownId = '00000000-0000-7000-8000-000000000000';

let platform: Platform;
let bus: Bus;

beforeAll(async () => {
  platform = await startPlatform({ services: [], env: { TRUSTED_PROXIES: '127.0.0.1' } });
  const { NATS_URL, BUS_PREFIX } = platform.env('gateway') as { NATS_URL: string; BUS_PREFIX: string };
  bus = await Bus.connect(NATS_URL, { prefix: BUS_PREFIX, service: 'calendar', log: createLogger('test', 'silent') });
});

afterAll(async () => {
  await bus?.close();
  await platform?.stop();
});

function expectRefusal(response: RawResponse, status: number, code: string, field?: string): void {
  expect({ status: response.status, ...response.body.error, message: '' }).toEqual({
    status,
    code,
    message: '',
    ...(field ? { field } : {}),
  });
}

async function make(settings: object = {}) {
  const response = await platform.admin('POST', '/admin/accounts', { name: 'Acme', ...settings });
  expect(response.status).toBe(201);
  return response.body;
}

async function addKey(accountId: string, settings: object = {}) {
  const body = { name: 'k', mode: 'live', scopes: ['*'], ...settings };
  const response = await platform.admin('POST', `/admin/accounts/${accountId}/keys`, body);
  expect(response.status).toBe(201);
  return response.body;
}

const me = (key: string) => rawRequest(platform.gatewayUrl, 'GET', '/v1/me', { key });

describe('the control plane', () => {
  const filled = (operation: Operation) => operation.path.replace(/\{\w+\}/g, unknownId);

  it('refuses every path without the admin token', async () => {
    const paths = [
      ...Object.values<Operation>(adminOperations).map((each) => [each.method, filled(each)]),
      ['GET', '/x'],
    ];
    for (const [index, [method, path]] of (paths as [string, string][]).entries()) {
      const without = await rawRequest(platform.adminUrl, method, path);
      expectRefusal(without, 401, 'key_required');
      expect(without.headers.get('www-authenticate')).toBe('Bearer');
      // A separate address for each request avoids the throttle for wrong tokens.
      const headers = { 'x-forwarded-for': `203.0.113.${index}` };
      const wrong = await rawRequest(platform.adminUrl, method, path, { key: `${platform.adminToken}x`, headers });
      expectRefusal(wrong, 401, 'invalid_key');
      expect(wrong.headers.get('request-id')).toMatch(/^[0-9a-f-]{36}$/);
    }
  });

  it('is not reachable through the public port, and the API is not reachable through its port', async () => {
    const { key } = await addKey((await make()).id);
    expectRefusal(await rawRequest(platform.gatewayUrl, 'GET', '/admin/accounts', { key }), 404, 'not_found');
    const admin = await rawRequest(platform.gatewayUrl, 'GET', '/admin/accounts', { key: platform.adminToken });
    expectRefusal(admin, 401, 'invalid_key');
    expectRefusal(await platform.admin('GET', '/v1/me'), 404, 'not_found');
  });

  it('returns 404 for unknown and malformed ids', async () => {
    for (const operation of Object.values<Operation>(adminOperations).filter((each) => each.path.includes('{'))) {
      for (const id of [unknownId, 'none']) {
        const path = operation.path.replace(/\{\w+\}/g, id);
        const refused = await platform.admin(operation.method, path, operation.body ? {} : undefined);
        // No service runs that could confirm that the dead event or endpoint does not exist.
        if (/\{(dead|endpoint)_id\}/.test(operation.path) && id === unknownId)
          expectRefusal(refused, 503, 'service_unavailable');
        else expectRefusal(refused, 404, 'not_found');
      }
    }
  });
});

describe('an account', () => {
  it('is created with a sandbox and defaults', async () => {
    const account = await make();
    expect(account).toEqual({
      id: expect.any(String),
      name: 'Acme',
      status: 'active',
      timezone: 'UTC',
      country: 'ZZ',
      language: 'en',
      currency: 'EUR',
      plan: { name: 'standard', api: true, modules: ['calendar', 'agents', 'cdp', 'catalogue', 'crm'] },
      modules: {
        calendar: { on: true },
        agents: { on: true },
        cdp: { on: true },
        catalogue: { on: true },
        crm: { on: true },
      },
      rate_limit: { per_minute: 600, burst: 100 },
      sandbox_id: expect.any(String),
      created_at: expect.stringMatching(/\+00:00$/),
      updated_at: account.created_at,
    });
    const sandbox = (await platform.admin('GET', `/admin/accounts/${account.sandbox_id}`)).body;
    expect(sandbox).toEqual({ ...account, id: account.sandbox_id, name: 'Acme (sandbox)', sandbox_id: null });
  });

  it('accepts the given settings, and derives its country from its zone', async () => {
    const account = await make({
      timezone: 'Asia/Kolkata',
      language: 'pt-BR',
      currency: 'INR',
      plan: { name: 'small', modules: ['crm', 'calendar', 'crm'] },
      modules: { crm: { on: false } },
      rate_limit: { per_minute: 5, burst: 2 },
    });
    expect(account).toMatchObject({
      country: 'IN',
      language: 'pt-BR',
      currency: 'INR',
      plan: { name: 'small', api: true, modules: ['calendar', 'crm'] },
      modules: { crm: { on: false }, calendar: { on: true } },
      rate_limit: { per_minute: 5, burst: 2 },
    });
    expect(account.created_at).toMatch(/\+05:30$/);
    expect((await make({ timezone: 'Europe/Berlin', country: 'AT' })).country).toBe('AT');
    expect((await make({ country: 'BV' })).country).toBe('BV');
  });

  it('stores its zone in its listed case, and an alias as given', async () => {
    for (const [given, kept] of [
      ['europe/berlin', 'Europe/Berlin'],
      ['utc', 'UTC'],
      ['Asia/Kolkata', 'Asia/Kolkata'],
      ['US/Eastern', 'US/Eastern'],
    ] as const) {
      const account = await make({ timezone: given });
      expect(account.timezone).toBe(kept);
      const changed = await platform.admin('PATCH', `/admin/accounts/${account.id}`, { timezone: given });
      expect(changed.body).toEqual(account);
    }
  });

  it('with an invalid field is refused, and the error names the field', async () => {
    const wrong: [object, string][] = [
      [{}, 'name'],
      [{ name: '' }, 'name'],
      [{ name: ' ' }, 'name'],
      [{ name: 'x', plan: { name: '\u00a0' } }, 'plan'],
      [{ name: 'x', timezone: 'Mars/Base' }, 'timezone'],
      ...['Germany', 'XX', 'ZZ', 'EU', 'DD'].map((country): [object, string] => [{ name: 'x', country }, 'country']),
      ...['euro', 'ZZZ', 'DEM'].map((currency): [object, string] => [{ name: 'x', currency }, 'currency']),
      [{ name: 'x', plan: { name: 'p', modules: ['nothing'] } }, 'plan'],
      [{ name: 'x', rate_limit: { per_minute: 0, burst: 1 } }, 'rate_limit'],
    ];
    for (const [body, field] of wrong) {
      expectRefusal(await platform.admin('POST', '/admin/accounts', body), 400, 'invalid_request', field);
    }
  });

  it('is changed by field, and its sandbox with it', async () => {
    const account = await make();
    platform.clock.advance(1_000);
    const changed = await platform.admin('PATCH', `/admin/accounts/${account.id}`, {
      name: 'Bigger',
      status: 'suspended',
      timezone: 'America/New_York',
      plan: { api: false },
      modules: { cdp: { on: false } },
      rate_limit: { burst: 9 },
    });
    expect(changed.status).toBe(200);
    expect(changed.body).toMatchObject({
      name: 'Bigger',
      status: 'suspended',
      timezone: 'America/New_York',
      country: account.country,
      plan: { ...account.plan, api: false },
      modules: { ...account.modules, cdp: { on: false } },
      rate_limit: { per_minute: 600, burst: 9 },
    });
    expect(Date.parse(changed.body.updated_at)).toBeGreaterThan(Date.parse(account.updated_at));
    const sandbox = (await platform.admin('GET', `/admin/accounts/${account.sandbox_id}`)).body;
    expect(sandbox).toEqual({ ...changed.body, id: account.sandbox_id, name: 'Bigger (sandbox)', sandbox_id: null });
    for (const id of [account.id, account.sandbox_id]) {
      const event = await platform.event(id, 'account.updated');
      expect(event.data.account).toMatchObject({ id, timezone: 'America/New_York' });
      expect(event.data.account.modules).not.toContain('cdp');
    }
  });

  it('stays unchanged, without an event, if a change has no effect', async () => {
    const account = await make();
    for (const body of [{}, { name: 'Acme', plan: { api: true }, modules: { cdp: { on: true } } }]) {
      const response = await platform.admin('PATCH', `/admin/accounts/${account.id}`, body);
      expect([response.status, response.body]).toEqual([200, account]);
    }
    const cleared = await platform.admin('PATCH', `/admin/accounts/${account.id}`, { name: null });
    expectRefusal(cleared, 400, 'invalid_request', 'name');
    await platform.admin('PATCH', `/admin/accounts/${account.id}`, { name: 'Last' });
    await platform.event(account.id, 'account.updated');
    expect(platform.events(account.id).map((event) => event.type)).toEqual(['account.created', 'account.updated']);
  });

  it('has a sandbox that cannot be changed alone', async () => {
    const account = await make();
    const response = await platform.admin('PATCH', `/admin/accounts/${account.sandbox_id}`, { name: 'x' });
    expectRefusal(response, 409, 'invalid_state');
    expect(response.body.error.message).toContain(account.id);
  });

  it('is created once under one Idempotency-Key', async () => {
    const send = () =>
      rawRequest(platform.adminUrl, 'POST', '/admin/accounts', {
        key: platform.adminToken,
        body: { name: 'Once' },
        headers: { 'idempotency-key': 'make-once' },
      });
    const [first, again] = [await send(), await send()];
    expect(again.text).toBe(first.text);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
  });

  it('is listed newest first, page by page, without sandboxes', async () => {
    const made = [];
    for (let count = 0; count < 5; count++) made.unshift((await make({ name: `Listed ${count}` })).id);
    const listed: string[] = [];
    let after = '';
    while (listed.length < 5) {
      const { body } = await platform.admin('GET', `/admin/accounts?limit=2${after && `&starting_after=${after}`}`);
      expect(body.data).toHaveLength(2);
      expect(body.has_more).toBe(true);
      listed.push(...body.data.map((each: { id: string }) => each.id));
      after = body.next;
    }
    expect(listed.slice(0, 5)).toEqual(made);
    const sandboxId = (await make()).sandbox_id;
    for (const cursor of ['', 'x', unknownId, sandboxId]) {
      const response = await platform.admin('GET', `/admin/accounts?starting_after=${cursor}`);
      expectRefusal(response, 400, 'invalid_request', 'starting_after');
    }
    expectRefusal(await platform.admin('GET', '/admin/accounts?limit=101'), 400, 'invalid_request', 'limit');
  });

  it('is found by a part of its name in any case and Unicode form, and by its id or the id of its sandbox', async () => {
    const cafe = await make({ name: 'Café 100%_Quokka' });
    const other = await make({ name: 'Quokka & Co' });
    const found = async (q: string) => {
      const { status, body } = await platform.admin('GET', `/admin/accounts?q=${encodeURIComponent(q)}`);
      expect([q, status]).toEqual([q, 200]);
      return body.data.map((each: { id: string }) => each.id);
    };
    expect(await found('quokka')).toEqual([other.id, cafe.id]);
    for (const q of ['CAFÉ', 'cafe\u0301', '0%_q', cafe.id.toUpperCase(), cafe.sandbox_id])
      expect([q, await found(q)]).toEqual([q, [cafe.id]]);
    for (const q of ['caf_', '%quokka%', '(sandbox)', '\\', unknownId]) expect([q, await found(q)]).toEqual([q, []]);
    const paged = await platform.admin('GET', `/admin/accounts?q=quokka&limit=1&starting_after=${other.id}`);
    expect(paged.body).toMatchObject({ data: [{ id: cafe.id }], has_more: false });
    expectRefusal(await platform.admin('GET', '/admin/accounts?q='), 400, 'invalid_request', 'q');
  });

  it('is known to other services under both ids, with its modules', async () => {
    const account = await make({ timezone: 'Europe/Berlin', modules: { crm: { on: false } } });
    const known = await bus.ask(getAccountContext, account.id, {});
    expect(known.account).toEqual({
      id: account.id,
      owner: account.id,
      name: 'Acme',
      mode: 'live',
      timezone: 'Europe/Berlin',
      country: 'DE',
      language: 'en',
      currency: 'EUR',
      modules: ['calendar', 'agents', 'cdp', 'catalogue'],
      suspended: false,
    });
    const sandbox = await bus.ask(getAccountContext, account.sandbox_id, {});
    expect(sandbox.account).toMatchObject({ id: account.sandbox_id, owner: account.id, mode: 'test' });
    expect(await bus.ask(getAccountContext, unknownId, {})).toEqual({ account: null });
    const created = await platform.event(account.sandbox_id, 'account.created');
    expect(created).toMatchObject({ mode: 'test', data: { account: sandbox.account } });
  });
});

describe('a key', () => {
  it('is shown once, and only its hash is stored', async () => {
    const account = await make();
    const expires_at = '2199-01-01T00:00:00+02:00';
    const settings = {
      scopes: ['cdp.contacts:read', 'cdp.contacts:read'],
      allowed_addresses: ['203.0.113.0/24'],
      expires_at,
    };
    const { key, ...shown } = await addKey(account.id, settings);
    expect(key).toMatch(/^cp_live_[0-9A-Za-z]{40}$/);
    expect(shown).toEqual({
      id: expect.any(String),
      name: 'k',
      mode: 'live',
      scopes: ['cdp.contacts:read'],
      allowed_addresses: ['203.0.113.0/24'],
      rate_limit: null,
      last4: key.slice(-4),
      created_at: expect.any(String),
      last_used_at: null,
      expires_at: '2198-12-31T22:00:00+00:00',
      revoked_at: null,
    });
    const { body } = await platform.admin('GET', `/admin/accounts/${account.id}/keys`);
    expect(body).toEqual({ data: [shown], has_more: false, next: null });
    const sql = postgres(platform.env('gateway').DATABASE_URL!, { max: 1, connection: { search_path: 'gateway' } });
    try {
      const [row] = await sql`select hash, to_jsonb(keys)::text as text from keys where id = ${shown.id}`;
      expect(row!.hash).toEqual(createHash('sha256').update(key).digest());
      expect(row!.text).not.toContain(key);
      const body = { name: 'k', mode: 'test', scopes: ['*'] };
      const request = { key: platform.adminToken, body, headers: { 'idempotency-key': 'secret' } };
      const issued = await rawRequest(platform.adminUrl, 'POST', `/admin/accounts/${account.id}/keys`, request);
      expect(issued.status).toBe(201);
      const again = await rawRequest(platform.adminUrl, 'POST', `/admin/accounts/${account.id}/keys`, request);
      expect([again.text, again.headers.get('idempotent-replayed')]).toEqual([issued.text, 'true']);
      const [stored] =
        await sql`select count(*)::int as count from idempotency where answer like ${`%${issued.body.key}%`}`;
      expect(stored!.count).toBe(0);
    } finally {
      await sql.end();
    }
  });

  it('with an invalid field is refused, and the error names the field', async () => {
    const { id } = await make();
    const wrong: [object, string][] = [
      [{}, 'name'],
      [{ mode: 'other' }, 'mode'],
      [{ scopes: [] }, 'scopes'],
      [{ scopes: ['calendar:all'] }, 'scopes'],
      [{ allowed_addresses: ['300.1.1.1'] }, 'allowed_addresses'],
      [{ allowed_addresses: ['10.0.0.0/8', '::ffff:10.0.0.0/95'] }, 'allowed_addresses'],
      [{ expires_at: '2020-01-01T00:00:00Z' }, 'expires_at'],
      [{ expires_at: '2030-01-01' }, 'expires_at'],
    ];
    for (const [body, field] of wrong) {
      const whole = field === 'name' ? {} : { name: 'k', mode: 'live', scopes: ['*'], ...body };
      expectRefusal(await platform.admin('POST', `/admin/accounts/${id}/keys`, whole), 400, 'invalid_request', field);
    }
  });

  it('of mode test is issued to the account, not to its sandbox', async () => {
    const account = await make();
    const body = { name: 'k', mode: 'test', scopes: ['*'] };
    const refused = await platform.admin('POST', `/admin/accounts/${account.sandbox_id}/keys`, body);
    expectRefusal(refused, 409, 'invalid_state');
    const { key } = await addKey(account.id, { mode: 'test' });
    expect(key).toMatch(/^cp_test_/);
    expect((await me(key)).body.account.id).toBe(account.sandbox_id);
    const { body: none } = await platform.admin('GET', `/admin/accounts/${account.sandbox_id}/keys`);
    expect(none).toEqual({ data: [], has_more: false, next: null });
  });

  it('is rotated: its successor has the same rights, and it works for the overlap', async () => {
    const account = await make();
    const old = await addKey(account.id, { scopes: ['crm.deals:read'], rate_limit: { per_minute: 60, burst: 6 } });
    const rotated = await platform.admin('POST', `/admin/keys/${old.id}/rotate`, { overlap_seconds: 60 });
    expect(rotated.status).toBe(201);
    const same = {
      name: 'k',
      mode: 'live',
      scopes: old.scopes,
      rate_limit: old.rate_limit,
      expires_at: null,
      last_used_at: null,
    };
    expect(rotated.body).toMatchObject(same);
    expect(rotated.body.id).not.toBe(old.id);
    for (const key of [old.key, rotated.body.key]) expect((await me(key)).status).toBe(200);
    platform.clock.advance(60_001);
    expect((await me(old.key)).body.error.code).toBe('invalid_key');
    expect((await me(rotated.body.key)).status).toBe(200);
    expectRefusal(await platform.admin('POST', `/admin/keys/${old.id}/rotate`, {}), 409, 'invalid_state');
    const tooLong = await platform.admin('POST', `/admin/keys/${rotated.body.id}/rotate`, { overlap_seconds: 604_801 });
    expectRefusal(tooLong, 400, 'invalid_request', 'overlap_seconds');
  });

  it('rotated without overlap ends at once, and an overlap never extends an earlier expiry', async () => {
    const account = await make();
    const first = await addKey(account.id);
    await platform.admin('POST', `/admin/keys/${first.id}/rotate`, { overlap_seconds: 0 });
    expect((await me(first.key)).status).toBe(401);
    const soon = new Date(platform.clock.now().getTime() + 30_000).toISOString();
    const second = await addKey(account.id, { expires_at: soon });
    await platform.admin('POST', `/admin/keys/${second.id}/rotate`, {});
    platform.clock.advance(30_001);
    expect((await me(second.key)).status).toBe(401);
  });

  it('is rotated twice: its successors keep its original expiry, not the end of its overlap', async () => {
    const account = await make();
    const end = new Date(platform.clock.now().getTime() + 3_600_000);
    for (const expires_at of [undefined, end.toISOString()]) {
      const old = await addKey(account.id, { ...(expires_at ? { expires_at } : {}) });
      const rotate = (overlap_seconds: number) =>
        platform.admin('POST', `/admin/keys/${old.id}/rotate`, { overlap_seconds });
      const [first, second] = [await rotate(60), await rotate(120)];
      for (const successor of [first, second]) {
        expect([successor.status, successor.body.expires_at]).toEqual([201, old.expires_at]);
      }
      const { body } = await platform.admin('GET', `/admin/accounts/${account.id}/keys`);
      const shown = body.data.find((each: { id: string }) => each.id === old.id);
      expect(Date.parse(shown.expires_at)).toBeLessThanOrEqual(platform.clock.now().getTime() + 60_000);
      platform.clock.advance(60_001);
      expect((await me(old.key)).status).toBe(401);
      for (const successor of [first, second]) expect((await me(successor.body.key)).status).toBe(200);
    }
  });

  it('is revoked at once, may be revoked again, and then cannot be rotated', async () => {
    const account = await make();
    const { id, key } = await addKey(account.id);
    expect((await me(key)).status).toBe(200);
    for (let count = 0; count < 2; count++) {
      const response = await platform.admin('DELETE', `/admin/keys/${id}`);
      expect([response.status, response.text]).toEqual([204, '']);
    }
    expect((await me(key)).status).toBe(401);
    expectRefusal(await platform.admin('POST', `/admin/keys/${id}/rotate`, {}), 409, 'invalid_state');
    const { body } = await platform.admin('GET', `/admin/accounts/${account.id}/keys`);
    expect(body.data[0].revoked_at).toEqual(expect.any(String));
  });
});

describe('a team member', () => {
  const add = (accountId: string, body: object) => platform.admin('POST', `/admin/accounts/${accountId}/members`, body);

  it('is added, is published to services, leaves and comes back under the same id', async () => {
    const { id } = await make();
    const added = await add(id, { name: 'Ada', email: ' Ada@Example.com ' });
    expect(added.status).toBe(201);
    const member = { id: expect.any(String), name: 'Ada', email: 'ada@example.com', active: true };
    expect(added.body).toEqual(member);
    expect((await platform.event(id, 'member.added')).data).toEqual({ member: added.body });
    expect(await bus.ask(getMember, id, { email: 'ADA@example.com' })).toEqual({ member: added.body });
    const path = `/admin/accounts/${id}/members/${added.body.id}`;
    expect((await platform.admin('DELETE', path)).status).toBe(204);
    expect((await platform.event(id, 'member.removed')).data).toEqual({ member: { ...added.body, active: false } });
    expectRefusal(await platform.admin('DELETE', path), 404, 'not_found');
    expect(await bus.ask(getMember, id, { email: 'ada@example.com' })).toEqual({
      member: { ...added.body, active: false },
    });
    const back = await add(id, { name: 'Ada L.', email: 'ada@example.com' });
    expect([back.status, back.body]).toEqual([201, { ...added.body, name: 'Ada L.' }]);
    expect((await add(id, { name: 'Ada L.', email: 'ada@example.com' })).body).toEqual(back.body);
    await platform.event(id, 'member.added', (data) => data.member.name === 'Ada L.');
    expect(platform.events(id).map((event) => event.type)).toEqual([
      'account.created',
      'member.added',
      'member.removed',
      'member.added',
    ]);
  });

  it('belongs to one account: a sandbox has its own team', async () => {
    const account = await make();
    const added = (await add(account.sandbox_id, { name: 'Sam', email: 'sam@example.com' })).body;
    expect((await platform.event(account.sandbox_id, 'member.added')).mode).toBe('test');
    const { body } = await platform.admin('GET', `/admin/accounts/${account.id}/members`);
    expect(body.data).toEqual([]);
    expectRefusal(
      await platform.admin('DELETE', `/admin/accounts/${account.id}/members/${added.id}`),
      404,
      'not_found',
    );
    expect(await bus.ask(getMember, account.id, { email: 'sam@example.com' })).toEqual({ member: null });
  });

  it('with an invalid field is refused, and the error names the field', async () => {
    const { id } = await make();
    expectRefusal(await add(id, { email: 'a@b.example' }), 400, 'invalid_request', 'name');
    expectRefusal(await add(id, { name: 'x', email: 'nobody' }), 400, 'invalid_request', 'email');
  });

  it('is found by other services with the other members of its account, including former ones', async () => {
    const [account, other] = [await make(), await make()];
    const addOne = async (id: string, email: string) => (await add(id, { name: 'Ada', email })).body as { id: string };
    const [stays, leaves] = [await addOne(account.id, 'ada@x.example'), await addOne(account.id, 'bo@x.example')];
    await addOne(other.id, 'far@x.example');
    await platform.admin('DELETE', `/admin/accounts/${account.id}/members/${leaves.id}`);
    const emails = ['far@x.example', 'bo@x.example', 'nobody@x.example', 'ada@x.example'];
    const { members } = await bus.ask(findMembers, account.id, { emails });
    expect(members).toHaveLength(2);
    expect(members).toEqual(expect.arrayContaining([stays, { ...leaves, active: false }]));
    expect(await bus.ask(findMembers, account.id, { emails: [] })).toEqual({ members: [] });
  });

  it('is added once by concurrent requests', async () => {
    const { id } = await make();
    const responses = await Promise.all(
      Array.from({ length: 10 }, () => add(id, { name: 'Ada', email: 'ada@x.example' })),
    );
    expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([201]));
    expect(new Set(responses.map(({ body }) => body.id)).size).toBe(1);
  });
});

it.each([
  ['keys', (id: string) => addKey(id)],
  [
    'members',
    async (id: string) =>
      (await platform.admin('POST', `/admin/accounts/${id}/members`, { name: 'x', email: `${randomUUID()}@x.example` }))
        .body,
  ],
] as const)('%s are listed newest first, page by page, after an entry of the same account', async (list, add) => {
  const [{ id }, other] = [await make(), await make()];
  const made: string[] = [];
  for (let count = 0; count < 3; count++) made.unshift((await add(id)).id);
  const page = (query: string) => platform.admin('GET', `/admin/accounts/${id}/${list}?limit=2${query}`);
  const first = (await page('')).body;
  const second = (await page(`&starting_after=${first.next}`)).body;
  expect([...first.data, ...second.data].map((each: { id: string }) => each.id)).toEqual(made);
  expect(second).toMatchObject({ has_more: false, next: null });
  for (const cursor of ['x', (await add(other.id)).id])
    expectRefusal(await page(`&starting_after=${cursor}`), 400, 'invalid_request', 'starting_after');
});

it('without webhooks the list of endpoints is empty and names it as gone; a cursor is 503', async () => {
  const { status, body } = await platform.admin('GET', '/admin/endpoints?failing=true');
  expect([status, body]).toEqual([200, { data: [], has_more: false, next: null, gone: ['webhooks'] }]);
  const next = await platform.admin('GET', `/admin/endpoints?starting_after=${unknownId}`);
  expectRefusal(next, 503, 'service_unavailable');
});
