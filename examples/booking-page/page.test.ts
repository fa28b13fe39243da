import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { startBrowser, type TestBrowser } from '@customer-platform/console/browser';
import { type Platform, startPlatform } from '@customer-platform/testkit';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { AxeResults } from 'axe-core';
import { createBookingServer } from './server.ts';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const email = 'ada@example.com';

let platform: Platform;
let browser: TestBrowser;
let book: (starts_at: string) => Promise<unknown>;
let url: string;
let stop: () => Promise<void>;
/** Idempotency-Keys that the page sent, in order. */
const keys: string[] = [];

beforeAll(async () => {
  platform = await startPlatform({ services: ['calendar', 'cdp'] });
  browser = await startBrowser();
  platform.clock.set(new Date(Math.ceil(Date.now() / 3_600_000) * 3_600_000 + 300_000));
  const { id, client, key } = await platform.account({ timezone: 'Europe/Berlin' });
  await platform.admin('POST', `/admin/accounts/${id}/members`, { name: 'Ada', email });
  const open: [string, string][] = [['08:00', '18:00']];
  const hours = { mon: open, tue: open, wed: open, thu: open, fri: open, sat: open, sun: open };
  await client.calendar.staff.create({ body: { email, hours } });
  const type = await client.calendar.bookingTypes.create({
    body: { name: 'Fitting', duration_minutes: 30, staff: [email] },
  });
  const contact = await client.cdp.contacts.create({ body: { name: 'Faster' } });
  book = (starts_at) =>
    client.calendar.appointments.create({ body: { contact: contact.id, booking_type: type.id, starts_at } });
  const server = createBookingServer({ platform: platform.gatewayUrl, key, bookingType: type.id });
  server.prependListener('request', ({ headers }) => keys.push(String(headers['idempotency-key'] ?? '')));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  stop = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
}, 120_000);
afterAll(async () => {
  await browser?.close();
  await stop?.();
  await platform?.stop();
});

it.each(['light', 'dark'] as const)(
  'on a phone, in %s, nothing is cut off and axe finds no violation',
  async (scheme) => {
    const page = await browser.open(url, { scheme, width: 320 });
    await page.getByRole('radio').first().waitFor();
    const width = await page.evaluate<number>('document.documentElement.scrollWidth');
    expect(width).toBeLessThanOrEqual(320);
    await page.evaluate(axe);
    const { violations } = await page.evaluate<AxeResults>(`axe.run({ resultTypes: ['violations'] })`);
    expect(violations.map(({ id, nodes }) => [id, nodes[0]?.html])).toEqual([]);
    const background = await page.evaluate<string>('getComputedStyle(document.body).backgroundColor');
    expect(background).toBe(scheme === 'light' ? 'rgb(255, 255, 255)' : 'rgb(20, 20, 24)');
  },
);

it('can be booked by keyboard; for a taken time it shows the next free times and uses a new key', async () => {
  const page = await browser.open(url);
  const first = page.getByRole('radio').first();
  await first.waitFor();
  const wanted = (await first.getAttribute('value'))!;
  await first.focus();
  await page.keyboard.press('Space');
  await page.getByLabel('Name').focus();
  await page.keyboard.type('Vera Visitor');
  await page.keyboard.press('Tab');
  await page.keyboard.type('vera@example.com');
  await book(wanted);
  await page.keyboard.press('Enter');
  await page.getByRole('alert').filter({ hasText: 'This time is no longer free' }).waitFor();
  const values = await page.evaluate<string[]>(
    "[...document.querySelectorAll('[name=starts_at]')].map(({ value }) => value)",
  );
  expect(values).toHaveLength(6);
  expect(values).not.toContain(wanted);

  await page.getByRole('radio').first().focus();
  await page.keyboard.press('Space');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Booked' }).waitFor();
  await page.getByText('Fitting with Ada').waitFor();
  const sent = keys.filter((key) => key !== '');
  expect(sent).toHaveLength(2);
  expect(sent[0]).not.toBe(sent[1]);
});

it('a form whose response was lost is sent again with the same key', async () => {
  const page = await browser.open(url);
  await page.getByRole('radio').last().check();
  await page.getByLabel('Name').fill('Otto Offline');
  await page.getByLabel('Email address').fill('otto@example.com');
  keys.length = 0;
  let lost = 0;
  await page.route('**/bookings', async (route) => {
    if (lost++ > 0) return await route.continue();
    await route.fetch();
    await route.abort();
  });
  await page.getByRole('button', { name: 'Book' }).click();
  await page.getByRole('alert').filter({ hasText: 'nothing is booked twice' }).waitFor();
  await page.getByRole('button', { name: 'Book' }).click();
  await page.getByRole('heading', { name: 'Booked' }).waitFor();
  expect(keys).toHaveLength(2);
  expect(keys[0]).toBe(keys[1]);
});
