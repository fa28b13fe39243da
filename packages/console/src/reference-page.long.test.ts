import { writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Platform, startPlatform, type TestAccount, waitFor } from '@customer-platform/testkit';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { startBrowser, type TestBrowser } from '../test/browser.ts';

/** The API's reference at /docs, in the browser that the console is tested in. */
let platform: Platform;
let account: TestAccount;
let browser: TestBrowser;
let directory: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'docs-key-'));
  const keyFile = join(directory, 'key');
  platform = await startPlatform({ services: ['cdp', 'calendar'], env: { DOCS_KEY_FILE: keyFile } });
  account = await platform.account();
  writeFileSync(keyFile, `${account.testKey}\n`);
  browser = await startBrowser();
}, 120_000);
afterAll(async () => {
  await browser?.close();
  await platform?.stop();
  await rm(directory, { recursive: true, force: true });
});

/** Gives the sandbox a teammate and two booking types; returns the id of the newest. */
async function makeBookable({ sandboxId, testClient: client }: TestAccount): Promise<number> {
  const email = 'mira@salon-aurora.example';
  await platform.admin('POST', `/admin/accounts/${sandboxId}/members`, { name: 'Mira', email });
  const hours = Object.fromEntries(
    ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'].map((day) => [day, [['09:00', '17:00'] as [string, string]]]),
  );
  await waitFor('the teammate', () => client.calendar.staff.create({ body: { email, hours } }));
  const make = async (name: string) =>
    (await client.calendar.bookingTypes.create({ body: { name, duration_minutes: 30, staff: [email] } })).id;
  await make('The one that has the id of the example');
  return await make('Cut');
}

/** Opens the reference, and collects what it asks for elsewhere and what its policy refuses. */
async function openReference(path: string, width: number): Promise<{ page: Page; faults: string[] }> {
  const page = await browser.open(platform.gatewayUrl, { width });
  const faults: string[] = [];
  page.on('request', (request) => {
    const url = request.url();
    if (!url.startsWith(platform.gatewayUrl) && !url.startsWith('data:')) faults.push(`asks for ${url}`);
  });
  page.on('pageerror', (error) => faults.push(error.message));
  page.on('console', (message) => {
    const isPolicy = message.text().includes('Content Security Policy');
    // A library looks whether it may evaluate text, and goes on without.
    if (isPolicy && !message.text().includes('unsafe-eval')) faults.push(message.text());
  });
  await page.goto(path);
  return { page, faults };
}

const heading = (page: Page, name: string) => page.getByRole('heading', { name, exact: true }).first();

it('is drawn, with guides, without anything from elsewhere, and finds an operation', async () => {
  const { page, faults } = await openReference('/docs', 1280);
  for (const guide of ['Authentication', 'Idempotency']) await heading(page, guide).waitFor();
  await page
    .getByRole('button', { name: /search/i })
    .first()
    .click();
  await page
    .getByRole('textbox', { name: /search/i })
    .or(page.getByRole('combobox'))
    .first()
    .fill('record a consent');
  await page
    .getByRole('option', { name: /record a consent/i })
    .first()
    .click();
  await heading(page, 'Record a consent').waitFor();
  expect(faults).toEqual([]);
});

it('tries a request as it is prefilled, in the sandbox, which succeeds', async () => {
  const { page, faults } = await openReference('/docs#tag/cdp/POST/v1/cdp/contacts', 1280);
  await heading(page, 'Create a contact').waitFor();
  await page
    .getByRole('button', { name: /^Test Request.*post \/v1\/cdp\/contacts\)?$/i })
    .first()
    .click();
  const [response] = await Promise.all([
    page.waitForResponse((each) => each.url().endsWith('/v1/cdp/contacts') && each.request().method() === 'POST'),
    page.getByRole('button', { name: /^Send/ }).first().click(),
  ]);
  expect(response.status()).toBe(201);
  const { data } = await account.testClient.listContacts();
  expect(data.map(({ name }) => name)).toEqual(['Lena Vogel']);
  expect(faults).toEqual([]);
});

it('has the address by which it is read in its commands', async () => {
  const { page, faults } = await openReference('/docs', 1280);
  await page.getByText(`curl ${platform.gatewayUrl}/v1/me`).first().waitFor();
  expect(faults).toEqual([]);
});

it('lists the free times of a booking type of the sandbox as it is prefilled', async () => {
  const own = await makeBookable(account);
  const { page, faults } = await openReference('/docs#tag/calendar/GET/v1/calendar/free-times', 1280);
  await heading(page, 'List free times').waitFor();
  await page
    .getByRole('button', { name: /^Test Request.*get \/v1\/calendar\/free-times\)?$/i })
    .first()
    .click();
  const [response] = await Promise.all([
    page.waitForResponse((each) => each.url().includes('/v1/calendar/free-times?')),
    page.getByRole('button', { name: /^Send/ }).first().click(),
  ]);
  const { searchParams } = new URL(response.url());
  expect(response.status()).toBe(200);
  expect(['booking_type', 'from', 'to'].map((name) => searchParams.get(name))).toEqual([String(own), null, null]);
  expect((await response.json()).data.length).toBeGreaterThan(0);
  expect(faults).toEqual([]);
});

it('is as wide as a phone', async () => {
  const { page, faults } = await openReference('/docs', 390);
  await heading(page, 'Authentication').waitFor();
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(390);
  await page.getByRole('button', { name: /menu/i }).first().click();
  await page
    .getByRole('button', { name: 'Customer data' })
    .or(page.getByRole('link', { name: 'Customer data' }))
    .first()
    .waitFor();
  expect(faults).toEqual([]);
});
