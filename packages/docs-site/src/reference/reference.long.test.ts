import { readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type PageOptions, startBrowser, type TestBrowser } from '@customer-platform/console/browser';
import { type Platform, startPlatform, type TestAccount, waitFor } from '@customer-platform/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { AxeResults } from 'axe-core';
import type { Page } from 'playwright-core';

/** The API reference of the built site at /docs/reference, with a sandbox's key. */
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

/** The parts of the document that the tests read. */
interface ApiDocument {
  tags: { name: string }[];
  paths: Record<string, Record<string, Described>>;
  components: { schemas: Record<string, { properties: Record<string, { description: string }> }> };
}
interface Described {
  operationId: string;
  tags: string[];
  parameters?: { name?: string; description: string }[];
}

async function fetchDocument(): Promise<ApiDocument> {
  return (await (await fetch(`${platform.gatewayUrl}/v1/openapi.json`)).json()) as ApiDocument;
}

/** Creates a teammate and two booking types in the sandbox. Returns the id of the newest booking type. */
async function makeBookable({ sandboxId, testClient: client }: TestAccount): Promise<number> {
  const email = 'mira@salon-aurora.example';
  await platform.admin('POST', `/admin/accounts/${sandboxId}/members`, { name: 'Mira', email });
  const hours = Object.fromEntries(
    ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'].map((day) => [day, [['09:00', '17:00'] as [string, string]]]),
  );
  await waitFor('the teammate', () => client.createStaff({ body: { email, hours } }));
  const make = async (name: string) =>
    (await client.createBookingType({ body: { name, duration_minutes: 30, staff: [email] } })).id;
  await make('The one that has the id of the example');
  return await make('Cut');
}

/** Opens the reference, and collects requests to other hosts and policy violations. */
async function openReference(
  fragment = '',
  { width = 1440, scheme = 'light' }: Pick<PageOptions, 'width' | 'scheme'> = {},
): Promise<{ page: Page; faults: string[] }> {
  const page = await browser.open(platform.gatewayUrl, { width, scheme });
  const faults: string[] = [];
  page.on('request', (request) => {
    const url = request.url();
    if (!url.startsWith(platform.gatewayUrl) && !url.startsWith('data:')) faults.push(`asks for ${url}`);
  });
  page.on('pageerror', (error) => faults.push(error.message));
  page.on('console', (message) => {
    const isPolicy = message.text().includes('Content Security Policy');
    // A library tests whether it may use eval, and works without.
    if (isPolicy && !message.text().includes('unsafe-eval')) faults.push(message.text());
  });
  await page.goto(`/docs/reference${fragment}`);
  await page.locator('#api .scalar-app').first().waitFor();
  return { page, faults };
}

/** Returns the section of an operation or event. */
const section = (page: Page, id: string) => page.locator(`#api [id$="/${id}"]`).first();

/** Waits until a section is at the top of the viewport, below the site's header. */
async function expectInView(page: Page, id: string, timeout = 60_000): Promise<void> {
  const top = `document.querySelector('#api [id$="/${id}"]')?.getBoundingClientRect().top`;
  await page.waitForFunction(`${top} > 0 && ${top} < innerHeight / 2`, undefined, { timeout });
}

/** Follows a link until its target is in view. Scalar ignores a link that is followed while it still renders the previous target. */
async function leadTo(page: Page, id: string, follow: () => Promise<unknown>): Promise<void> {
  await waitFor(`${id} in view`, async () => {
    await follow();
    await expectInView(page, id, 5_000);
    return true;
  });
}

describe('an operation', () => {
  it("can be reached by its id, when the page opens and through the site's links", async () => {
    const { page, faults } = await openReference('#bookAppointment');
    await expectInView(page, 'bookAppointment');
    // The link's group is collapsed.
    const link = page.locator('nav a[href="/docs/reference#sendMessage"]').first();
    await leadTo(page, 'sendMessage', () => link.dispatchEvent('click'));
    await leadTo(page, 'appointment.booked', () => page.goto('/docs/reference#appointment.booked'));
    expect(faults).toEqual([]);
  });

  it('shows its scope, its errors, and the meaning of each parameter and field, without a click', async () => {
    const document = await fetchDocument();
    const textOf = async (id: string) => {
      const { page } = await openReference(`#${id}`);
      await expectInView(page, id);
      return (await section(page, id).innerText()).replaceAll(/\s+/g, ' ');
    };
    const booking = await textOf('bookAppointment');
    for (const text of [
      'Scope: calendar:write',
      '409 slot_taken: The time cannot be booked',
      '401 key_required, invalid_key',
    ])
      expect(booking).toContain(text);
    const fields = Object.values(document.components.schemas.BookAppointmentBody!.properties);
    const parameters = document.paths['/v1/calendar/free-times']!.get!.parameters!.filter(({ name }) => name);
    expect([fields.length, parameters.length].every((count) => count > 4)).toBe(true);
    const plain = (text: string) => text.replaceAll('`', '').split(/[.:;]/, 1)[0]!;
    for (const { description } of fields) expect(booking).toContain(plain(description));
    const times = await textOf('listFreeTimes');
    for (const { description } of parameters) expect(times).toContain(plain(description));
  });

  it('has samples for curl and our clients, whose lines are not cut off', async () => {
    const { page } = await openReference('#sendMessage');
    const sample = section(page, 'sendMessage').locator('.request-card');
    await sample.getByText("curl 'http").first().waitFor();
    await sample.getByTestId('client-picker').click();
    // Both are visible when the menu opens; other languages follow.
    for (const name of ['TypeScript client', 'Python client'])
      expect(await page.getByRole('option', { name, exact: true }).isVisible()).toBe(true);
    await page.keyboard.press('Escape');
    for (const [picked, text] of [
      ['curl', "curl 'http"],
      ['TypeScript client', 'await client.messages.send({'],
      ['Python client', 'client.messages.send('],
      ['Python requests', 'requests.post('],
      ['JavaScript fetch', 'fetch('],
    ] as const) {
      await sample.getByTestId('client-picker').click();
      await page.getByRole('option', { name: picked, exact: true }).first().click();
      await sample.getByText(text).first().waitFor();
      const [width, whole] = await sample.locator('pre').evaluate((each) => [each.clientWidth, each.scrollWidth]);
      expect([picked, whole]).toEqual([picked, width]);
    }
  });

  it('can be tried in the sandbox as prefilled', async () => {
    const { page, faults } = await openReference('#createContact');
    await section(page, 'createContact')
      .getByRole('button', { name: /^Test Request/ })
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

  it.each([1024, 1440, 1920])('is tried in a dialog that the site does not cover, %i px wide', async (width) => {
    const { page } = await openReference('#createContact', { width });
    await section(page, 'createContact')
      .getByRole('button', { name: /^Test Request/ })
      .click();
    const dialog = page.locator('.scalar-client--open [role=dialog]');
    await dialog.getByRole('button', { name: /^Send/ }).first().waitFor();
    const covered = await dialog.evaluate((element) => {
      const { left, right, top, bottom } = element.getBoundingClientRect();
      const corners = [left + 12, right - 12].flatMap((x) => [top + 12, bottom - 12].map((y) => [x, y] as const));
      return corners.filter(([x, y]) => !element.contains(element.ownerDocument.elementFromPoint(x, y)));
    });
    expect(covered).toEqual([]);
    // The header and the navigation are behind the overlay that closes the dialog.
    const atHeader = await page.evaluate(`document.elementFromPoint(20, 20).className`);
    expect(atHeader).toBe('scalar-app-exit');
  });

  it("without a scope is tried with the sandbox's key", async () => {
    const { page, faults } = await openReference('#getMe');
    await section(page, 'getMe')
      .getByRole('button', { name: /^Test Request/ })
      .click();
    const [response] = await Promise.all([
      page.waitForResponse((each) => each.url().endsWith('/v1/me')),
      page.getByRole('button', { name: /^Send/ }).first().click(),
    ]);
    expect((await response.json()).mode).toBe('test');
    expect(faults).toEqual([]);
  });

  it('that lists free times uses a booking type of the sandbox', async () => {
    const own = await makeBookable(account);
    const { page, faults } = await openReference('#listFreeTimes');
    await section(page, 'listFreeTimes')
      .getByRole('button', { name: /^Test Request/ })
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
});

it('has groups and operations in the order of the document', async () => {
  const { tags, paths } = await fetchDocument();
  const operations = Object.values(paths).flatMap((methods) => Object.values(methods));
  const inOrder = tags.flatMap(({ name }) =>
    operations.filter((each) => each.tags[0] === name).map(({ operationId }) => `${name}/${operationId}`),
  );
  const { page } = await openReference('#sendMessage');
  await expectInView(page, 'sendMessage');
  const ids = await page.locator('#api [id*="/tag/"]').evaluateAll((all) => all.map(({ id }) => id));
  const shown = ids.map((id) => /\/tag\/(\w+\/\w+)$/.exec(id)?.[1]).filter((id) => id !== undefined);
  expect([...new Set(shown)]).toEqual(inOrder);
  expect(shown.indexOf('messages/sendMessage')).toBeLessThan(shown.indexOf('messages/deleteChannel'));
});

it('offers no try button for events', async () => {
  const { page } = await openReference('#appointment.booked');
  await expectInView(page, 'appointment.booked');
  await section(page, 'appointment.booked').getByText('webhook-signature').first().waitFor();
  expect(
    await section(page, 'appointment.booked')
      .getByRole('button', { name: /Test Request/ })
      .count(),
  ).toBe(0);
});

it("has the page's address in its commands", async () => {
  const { page } = await openReference();
  await page.locator('#api').getByText(`curl ${platform.gatewayUrl}/v1/me`).first().waitFor();
});

it('is dark when the site becomes dark', async () => {
  const { page } = await openReference();
  const background = `getComputedStyle(document.querySelector('#api .scalar-app')).backgroundColor`;
  const light = await page.evaluate(background);
  await page.evaluate(`document.documentElement.dataset.theme = 'dark'`);
  await page.waitForFunction(`document.body.classList.contains('dark-mode')`);
  expect(await page.evaluate(background)).not.toBe(light);
});

/** Rules that Scalar's markup breaks: its root is a main element, which the page marks as a region, and its cards share one name. */
const ofScalar = ['aria-allowed-role', 'landmark-unique'];

it.each(['light', 'dark'] as const)('has no axe violations in %s, except names of regions', async (scheme) => {
  const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
  for (const id of ['listFreeTimes', 'appointment.booked']) {
    const { page } = await openReference(`#${id}`, { scheme });
    await expectInView(page, id);
    await page.evaluate(axe);
    const { violations } = await page.evaluate<AxeResults>(`axe.run('#api', { resultTypes: ['violations'] })`);
    const found = violations.flatMap(({ id: rule, impact, nodes }) =>
      nodes.map(({ html }) => ({ rule, impact, html })),
    );
    expect(found.filter(({ rule }) => !ofScalar.includes(rule))).toEqual([]);
    expect(found.filter(({ impact }) => impact === 'serious' || impact === 'critical')).toEqual([]);
  }
});

it('fits the width of a phone', async () => {
  const { page, faults } = await openReference('#bookAppointment', { width: 360 });
  await expectInView(page, 'bookAppointment');
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360);
  expect(faults).toEqual([]);
});
