import { operations } from '@customer-platform/contracts';
import { Me } from '@customer-platform/contracts/accounts';
import {
  type Platform,
  type RawResponse,
  rawRequest,
  startPlatform,
  type TestAccount,
} from '@customer-platform/testkit';
import { type StandInService, startStandIn } from '@customer-platform/testkit/stand-in-service';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { startGateway } from '../main.ts';

const path = '/v1/calendar/settings';

let service: StandInService;
let platform: Platform;
let account: TestAccount;

beforeAll(async () => {
  service = await startStandIn();
  platform = await startPlatform({ services: [], env: { CALENDAR_URL: service.url } });
});

afterAll(async () => {
  await platform?.stop();
  await service?.stop();
});

beforeEach(async () => {
  account = await platform.account();
});

function expectRefusal(response: RawResponse, status: number, code: string, field?: string): void {
  expect({ status: response.status, code: response.body.error.code, field: response.body.error.field }).toEqual({
    status,
    code,
    field,
  });
  expect(response.body.error.message.length).toBeGreaterThan(10);
  expect(response.headers.get('request-id')).toMatch(/^[0-9a-f-]{36}$/);
}

const change = (id: string, body: object) => platform.admin('PATCH', `/admin/accounts/${id}`, body);

describe('the key', () => {
  it('is required', async () => {
    for (const headers of [{}, { authorization: 'Basic dXNlcjpwYXNz' }, { authorization: 'Bearer' }]) {
      const response = await account.request('GET', path, { key: null, headers });
      expectRefusal(response, 401, 'key_required');
      expect(response.headers.get('www-authenticate')).toBe('Bearer');
      expect(response.headers.get('ratelimit')).toBeNull();
    }
  });

  it('is refused if it is mistyped, unknown or of the other mode', async () => {
    const last = account.key.at(-1) === 'x' ? 'y' : 'x';
    const mistyped = account.key.slice(0, -1) + last;
    for (const key of [mistyped, 'nonsense', account.key.replace('live', 'test'), `${account.key}x`]) {
      const response = await account.request('GET', path, { key });
      expectRefusal(response, 401, 'invalid_key');
      expect(response.headers.get('www-authenticate')).toBe('Bearer');
    }
  });

  it('is accepted whatever the case of the scheme', async () => {
    const response = await account.request('GET', '/v1/me', {
      key: null,
      headers: { authorization: `bearer ${account.key}` },
    });
    expect(response.status).toBe(200);
  });

  it('ends when it expires', async () => {
    const expires_at = new Date(platform.clock.now().getTime() + 60_000).toISOString();
    const key = await platform.issueKey(account.id, { expires_at });
    expect((await account.request('GET', '/v1/me', { key })).status).toBe(200);
    platform.clock.advance(60_001);
    expectRefusal(await account.request('GET', '/v1/me', { key }), 401, 'invalid_key');
  });
});

describe('the order of the checks', () => {
  it('is key, account, plan, address, rate, route, module, scope', async () => {
    const key = await platform.issueKey(account.id, {
      scopes: ['webhooks:read'],
      allowed_addresses: ['203.0.113.0/24'],
      rate_limit: { per_minute: 1, burst: 1 },
    });
    await change(account.id, { status: 'suspended', plan: { api: false }, modules: { calendar: { on: false } } });
    const ask = (target = path) => account.request('GET', target, { key });
    expectRefusal(await ask(), 403, 'account_suspended');
    await change(account.id, { status: 'active' });
    expectRefusal(await ask(), 403, 'plan_excludes_api');
    await change(account.id, { plan: { api: true } });
    const refused = await ask();
    expectRefusal(refused, 403, 'address_not_allowed');
    expect(refused.headers.get('ratelimit')).toBe('"key";r=1;t=0');
    const local = await platform.issueKey(account.id, {
      scopes: ['webhooks:read'],
      allowed_addresses: ['127.0.0.0/8', '::1'],
      rate_limit: { per_minute: 1, burst: 4 },
    });
    const askLocally = (target: string) => account.request('GET', target, { key: local });
    expectRefusal(await askLocally('/v1/nothing'), 404, 'not_found');
    expectRefusal(await askLocally(path), 404, 'module_off');
    await change(account.id, { modules: { calendar: { on: true } } });
    const scopeless = await askLocally(path);
    expectRefusal(scopeless, 403, 'scope_missing');
    expect(scopeless.body.error.message).toContain('calendar:read');
    expect((await askLocally('/v1/me')).status).toBe(200);
    expectRefusal(await askLocally('/v1/nothing'), 429, 'rate_limited');
  });

  it('shows the rate with every refusal once the key is known', async () => {
    await change(account.id, { status: 'suspended' });
    const response = await account.request('GET', path);
    expectRefusal(response, 403, 'account_suspended');
    expect(response.headers.get('ratelimit-policy')).toBe('"key";q=100000;w=6');
    expect(response.headers.get('ratelimit')).toMatch(/^"key";r=100000;t=0$/);
  });
});

describe('the path', () => {
  it('that is unknown is 404, with and without a query', async () => {
    for (const target of ['/', '/v1', '/v2/me', '/v1/calendar', '/v1/calendar/settings/x?a=1', '/admin/accounts']) {
      expectRefusal(await account.request('GET', target), 404, 'not_found');
    }
  });

  it('needs a key, even if it is unknown', async () => {
    expectRefusal(await account.request('GET', '/v1/nothing', { key: null }), 401, 'key_required');
  });

  it('with another method is 405 with Allow', async () => {
    const response = await account.request('DELETE', path);
    expectRefusal(response, 405, 'invalid_request');
    expect(response.headers.get('allow')!.split(', ').sort()).toEqual(['GET', 'HEAD', 'OPTIONS', 'PATCH']);
    expectRefusal(
      await account.request('HEAD', '/v1/calendar/appointments/x/cancel').then(withoutBody),
      405,
      'invalid_request',
    );
  });

  it('responds to OPTIONS with 204 and Allow', async () => {
    const response = await account.request('OPTIONS', path);
    expect(response.status).toBe(204);
    expect(response.headers.get('allow')).toContain('PATCH');
    expectRefusal(await account.request('OPTIONS', '/v1/nothing'), 404, 'not_found');
  });

  it('of every operation of a service without an address is 503, never 404', async () => {
    const unset = operations.filter(({ service: name }) => name !== 'calendar' && name !== 'gateway');
    expect(unset.length).toBeGreaterThan(10);
    for (const { method, path: template } of unset) {
      const response = await account.request(method, template.replace(/\{\w+\}/g, '1'));
      expectRefusal(response, 503, 'service_unavailable');
      expect(response.headers.get('retry-after')).toBe('1');
    }
  });

  it('of an inbound webhook needs no key, and is 404 without an address of messaging', async () => {
    expectRefusal(await account.request('POST', '/hooks/messages/token', { key: null, body: {} }), 404, 'not_found');
  });

  function withoutBody(response: RawResponse): RawResponse {
    expect(response.text).toBe('');
    return { ...response, body: { error: { code: 'invalid_request', message: 'HEAD has no body' } } };
  }
});

describe('a module', () => {
  it('that is not in the plan, or is off, is 404 module_off for both keys', async () => {
    await change(account.id, { plan: { modules: ['cdp'] } });
    for (const key of [account.key, account.testKey]) {
      expectRefusal(await account.request('GET', path, { key }), 404, 'module_off');
    }
    await change(account.id, { plan: { modules: ['cdp', 'calendar'] } });
    expect((await account.request('GET', path)).status).toBe(200);
    await change(account.id, { modules: { calendar: { on: false } } });
    expectRefusal(await account.request('GET', path, { key: account.testKey }), 404, 'module_off');
  });
});

describe('GET /v1/me', () => {
  it('shows what a live key may do', async () => {
    const key = await platform.issueKey(account.id, { scopes: ['calendar:read', 'crm.deals:read'] });
    const { status, body } = await account.request('GET', '/v1/me', { key });
    expect(status).toBe(200);
    expect(Me.parse(body)).toEqual(body);
    expect(body).toMatchObject({
      account: { id: account.id, name: 'Test', timezone: 'Europe/Berlin', currency: 'EUR' },
      mode: 'live',
      scopes: ['calendar:read', 'crm.deals:read'],
      modules: ['calendar', 'agents', 'cdp', 'catalogue', 'crm'],
      rate_limit: { per_minute: 1_000_000, burst: 100_000 },
    });
    expect(body.tzdata).toMatch(/^20\d\d[a-z]$/);
  });

  it('shows the sandbox to a test key', async () => {
    const { body } = await account.request('GET', '/v1/me', { key: account.testKey });
    expect(body).toMatchObject({ account: { id: account.sandboxId, name: 'Test (sandbox)' }, mode: 'test' });
  });
});

describe('X-Forwarded-For', () => {
  it('counts only from proxies that the operator named', async () => {
    const key = await platform.issueKey(account.id, { allowed_addresses: ['203.0.113.0/24', '2001:db8::/32'] });
    const behindProxy = await startGateway({ ...platform.env('gateway'), TRUSTED_PROXIES: '127.0.0.0/8, 10.0.0.0/8' });
    const ask = (url: string, forwarded: string) =>
      rawRequest(url, 'GET', '/v1/me', { key, headers: { 'x-forwarded-for': forwarded } });
    try {
      expect((await ask(platform.gatewayUrl, '203.0.113.9')).status).toBe(403);
      const allowed = [
        '203.0.113.9',
        '198.51.100.1, 203.0.113.9, 10.1.2.3',
        '203.0.113.9:4711',
        '2001:db8::1',
        '::ffff:203.0.113.9',
      ];
      for (const forwarded of allowed)
        expect([forwarded, (await ask(behindProxy.url, forwarded)).status]).toEqual([forwarded, 200]);
      for (const forwarded of ['203.0.113.9, 198.51.100.1', '203.0.113.9, unknown', '10.0.0.1', '']) {
        expect([forwarded, (await ask(behindProxy.url, forwarded)).status]).toEqual([forwarded, 403]);
      }
    } finally {
      await behindProxy.stop();
    }
  });
});
