import { type Platform, startPlatform } from '@customer-platform/testkit';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { startBrowser, type TestBrowser } from '../test/browser.ts';
import { makeAndRevokeKey, signIn } from '../test/flows.ts';

let browser: TestBrowser;
let platform: Platform;

beforeAll(async () => {
  platform = await startPlatform({ services: [] });
  browser = await startBrowser();
}, 120_000);

afterAll(async () => {
  await browser?.close();
  await platform?.stop();
});

it('is served by the control plane, asks for nothing else, and revokes a key that it made', async () => {
  const created = await platform.admin('POST', '/admin/accounts', { name: 'Northwind' });
  const page = await browser.open(platform.adminUrl);
  const failures: string[] = [];
  const hosts = new Set<string>();
  page.on('pageerror', (error) => failures.push(error.message));
  page.on('console', (message) => message.text().includes('Content Security Policy') && failures.push(message.text()));
  page.on('request', (request) => hosts.add(new URL(request.url()).host));
  await page.reload();
  await signIn(page, platform.adminToken);
  const key = await makeAndRevokeKey(page, 'Northwind');
  const { body } = await platform.admin('GET', `/admin/accounts/${created.body.id}/keys`);
  expect(body.data).toEqual([expect.objectContaining({ last4: key.slice(-4), revoked_at: expect.any(String) })]);
  expect([...hosts]).toEqual([new URL(platform.adminUrl).host]);
  expect(failures).toEqual([]);
});
