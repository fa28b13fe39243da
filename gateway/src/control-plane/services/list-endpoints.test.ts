import { type Platform, startPlatform } from '@customer-platform/testkit';
import { afterAll, beforeAll, expect, it } from '@jest/globals';

let platform: Platform;
beforeAll(async () => {
  platform = await startPlatform({ services: [] });
});
afterAll(async () => await platform?.stop());

it('says that webhooks is gone where it does not reply, and refuses a cursor that nobody can look for', async () => {
  const { status, body } = await platform.admin('GET', '/admin/endpoints?failing=true');
  expect([status, body]).toEqual([200, { data: [], has_more: false, next: null, gone: ['webhooks'] }]);
  const next = await platform.admin('GET', '/admin/endpoints?starting_after=0198a1b2-0000-7000-8000-000000000001');
  expect([next.status, next.body.error.code]).toEqual([503, 'service_unavailable']);
});
