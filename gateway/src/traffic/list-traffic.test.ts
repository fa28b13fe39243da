import { type Platform, rawRequest, startPlatform, waitFor } from '@customer-platform/testkit';
import { afterAll, beforeAll, expect, it } from '@jest/globals';

let platform: Platform;
beforeAll(async () => {
  platform = await startPlatform({ services: ['crm'] });
});
afterAll(() => platform?.stop());

const trafficOf = async (account?: string) => {
  const { status, body } = await platform.admin('GET', `/admin/traffic${account ? `?account=${account}` : ''}`);
  expect(status).toBe(200);
  return body.data as { requests: number; s2xx: number; s4xx: number; s5xx: number; limited: number; p99_ms: number }[];
};

it('shows the requests of an account by minute, with refused ones by status class', async () => {
  const account = await platform.account({ rate_limit: { per_minute: 1, burst: 3 } });
  const get = (path: string) => rawRequest(platform.gatewayUrl, 'GET', path, { key: account.key });
  const statuses = [];
  for (const path of ['/v1/me', '/v1/crm/deals', '/v1/crm/deals/none', '/v1/me'])
    statuses.push((await get(path)).status);
  expect(statuses).toEqual([200, 200, 404, 429]);
  const minutes = await waitFor(
    'the counts',
    async () => {
      const listed = await trafficOf(account.id);
      return listed.reduce((sum, { requests }) => sum + requests, 0) === 4 && listed;
    },
    30_000,
  );
  const sum = (name: 's2xx' | 's4xx' | 's5xx' | 'limited') => minutes.reduce((all, minute) => all + minute[name], 0);
  expect([sum('s2xx'), sum('s4xx'), sum('s5xx'), sum('limited')]).toEqual([2, 2, 0, 1]);
  expect(minutes[0]!.p99_ms).toBeGreaterThan(0);
  const all = (await trafficOf()).reduce((total, { requests }) => total + requests, 0);
  expect(all).toBeGreaterThanOrEqual(4);
});

it('is 404 for an unknown account and 400 for a malformed id', async () => {
  const refusal = async (account: string) => {
    const { status, body } = await platform.admin('GET', `/admin/traffic?account=${account}`);
    return [status, body.error.code, body.error.field];
  };
  expect(await refusal('0198a1b2-0000-7000-8000-000000000009')).toEqual([404, 'not_found', undefined]);
  expect(await refusal('everybody')).toEqual([400, 'invalid_request', 'account']);
});
