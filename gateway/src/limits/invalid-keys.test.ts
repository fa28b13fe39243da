import { type Platform, type Relay, rawRequest, startPlatform, startRelay, waitFor } from '@customer-platform/testkit';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { startGateway } from '../main.ts';

const wrong = 'cp_live_0000000000000000000000000000000000000000';
let redis: Relay;
let platform: Platform;
let second: { url: string; stop(): Promise<void> };

beforeAll(async () => {
  redis = await startRelay(process.env.TEST_REDIS_URL!);
  const env = { TRUSTED_PROXIES: '127.0.0.1', REDIS_URL: redis.url };
  platform = await startPlatform({ services: [], env });
  second = await startGateway(platform.env('gateway'));
}, 60_000);
afterAll(async () => {
  await second?.stop();
  await platform?.stop();
  await redis?.stop();
});

const ask = (key: string | null, from: string, url = platform.gatewayUrl) =>
  rawRequest(url, 'GET', '/v1/me', { key, headers: { 'x-forwarded-for': from } });

/** Sends invalid keys from an address, alternately to both gateways; returns their statuses. */
async function sendInvalid(from: string, times: number): Promise<number[]> {
  const statuses: number[] = [];
  for (let count = 0; count < times; count++)
    statuses.push((await ask(wrong, from, count % 2 === 0 ? platform.gatewayUrl : second.url)).status);
  return statuses;
}

it('the twenty-first invalid key of an address within a minute gets 429 instead of 401, across all gateways', async () => {
  for (let count = 0; count < 30; count++) expect((await ask(null, '198.51.100.7')).status).toBe(401);
  expect(await sendInvalid('198.51.100.7', 22)).toEqual([...Array(20).fill(401), 429, 429]);
  const refused = await ask(wrong, '198.51.100.7');
  expect([refused.status, refused.body.error.code]).toEqual([429, 'rate_limited']);
  const seconds = Number(refused.headers.get('retry-after'));
  expect(seconds).toBeGreaterThan(0);
  expect(seconds).toBeLessThanOrEqual(60);
  expect((await ask(wrong, '198.51.100.8')).status).toBe(401);
});

it('other requests of the address are not refused: valid keys, requests without a key, the documentation', async () => {
  const { key, testKey } = await platform.account();
  await sendInvalid('198.51.100.9', 21);
  for (const url of [platform.gatewayUrl, second.url]) {
    expect((await ask(key, '198.51.100.9', url)).status).toBe(200);
    expect((await ask(testKey, '198.51.100.9', url)).status).toBe(200);
    expect((await ask(null, '198.51.100.9', url)).status).toBe(401);
    const docs = await rawRequest(url, 'GET', '/v1/openapi.json', { headers: { 'x-forwarded-for': '198.51.100.9' } });
    expect(docs.status).toBe(200);
  }
});

it('an IPv6 address counts as its /64', async () => {
  for (let count = 0; count < 20; count++) expect((await ask(wrong, `2001:db8:0:1::${count + 1}`)).status).toBe(401);
  expect((await ask(wrong, '2001:db8:0:1:ffff::1')).status).toBe(429);
  expect((await ask(wrong, '2001:db8:0:2::1')).status).toBe(401);
});

it('operators see the addresses of the last hour, most invalid keys first, page by page', async () => {
  await sendInvalid('198.51.100.20', 3);
  await sendInvalid('198.51.100.21', 23);
  const list = async (query = '') => (await platform.admin('GET', `/admin/addresses${query}`)).body;
  const { data } = await list('?limit=100');
  const ours = data.filter(({ address }: { address: string }) => /^198\.51\.100\.2[01]$/.test(address));
  expect(ours).toEqual([
    { address: '198.51.100.21', invalid_keys: 23, last_at: expect.any(String) },
    { address: '198.51.100.20', invalid_keys: 3, last_at: expect.any(String) },
  ]);
  const first = await list('?limit=1');
  expect(first.data).toEqual([data[0]]);
  expect((await list(`?limit=1&starting_after=${encodeURIComponent(first.next)}`)).data).toEqual([data[1]]);
  expect((await list('?starting_after=203.0.113.1')).error).toMatchObject({ field: 'starting_after' });
  platform.clock.advance(3_600_000);
  expect((await list()).data).toEqual([]);
});

it('without Redis each gateway counts only its own, and operators get 503', async () => {
  redis.cut();
  await waitFor('Redis to be gone', async () => (await platform.admin('GET', '/admin/addresses')).status === 503);
  for (let count = 0; count < 20; count++) expect((await ask(wrong, '198.51.100.30')).status).toBe(401);
  expect((await ask(wrong, '198.51.100.30')).status).toBe(429);
  expect((await ask(wrong, '198.51.100.30', second.url)).status).toBe(401);
  redis.mend();
  await waitFor('Redis to be back', async () => (await platform.admin('GET', '/admin/addresses')).status === 200);
});
