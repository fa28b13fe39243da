import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { gunzipSync } from 'node:zlib';
import { startBrowser, type TestBrowser } from '@customer-platform/console/browser';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { AxeResults } from 'axe-core';
import type { ConsoleMessage, Page } from 'playwright-core';
import { type ServedSite, serveSite } from '../test/serve-site.ts';
import { guides } from './manifest.ts';
import { pathOf } from './pages.ts';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const paths = guides.map(({ file }) => pathOf(file));

let site: ServedSite;
let browser: TestBrowser;
beforeAll(async () => {
  site = await serveSite();
  browser = await startBrowser();
}, 120_000);
afterAll(async () => {
  await browser?.close();
  await site?.close();
});

/** Opens a page of the site, and collects policy violations, missing files and requests to other hosts. */
async function openPage(path: string, options: { scheme?: 'light' | 'dark'; width?: number } = {}) {
  // Opens another page first, so that the listeners are set before the tested page loads.
  const page = await browser.open(`${site.url}/docs/404`, options);
  const faults: string[] = [];
  page.on('console', (message: ConsoleMessage) => {
    if (message.type() === 'error' || message.type() === 'warning') faults.push(message.text());
  });
  page.on('request', (request) => {
    if (!request.url().startsWith(site.url) && !request.url().startsWith('data:')) faults.push(request.url());
  });
  await page.goto(site.url + path);
  return { page, faults };
}

/** Runs axe with all rules except `disabled`. */
async function expectAccessible(page: Page, disabled: string[] = []): Promise<void> {
  await page.evaluate(axe);
  const rules = Object.fromEntries(disabled.map((rule) => [rule, { enabled: false }]));
  const { violations } = await page.evaluate<AxeResults>(
    `axe.run({ resultTypes: ['violations'], rules: ${JSON.stringify(rules)} })`,
  );
  expect(violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`))).toEqual([]);
}

const screens = [
  ['light', 1280],
  ['dark', 360],
] as const;

describe.each(screens)('in %s, %i px wide', (scheme, width) => {
  it.each(paths)('%s has no axe violations, no policy violations and no horizontal overflow', async (path) => {
    const { page, faults } = await openPage(path, { scheme, width });
    await expectAccessible(page);
    expect(faults).toEqual([]);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width);
  });
});

it('shows the navigation on a phone once its button is pressed', async () => {
  const { page } = await openPage('/docs', { width: 360 });
  const link = page.getByRole('link', { name: 'Quickstart', exact: true }).first();
  expect(await link.isVisible()).toBe(false);
  await page.getByRole('button', { name: 'Menu' }).click();
  await link.click();
  await page.waitForURL('**/docs/quickstart');
});

/** Words that readers search for, and the pages of which one must be the first result. */
const searches: [word: string, ...paths: string[]][] = [
  ['signature', '/docs/webhooks'],
  ['bulk', '/docs/customer-data', '/docs/command-line'],
  ['import', '/docs/customer-data', '/docs/command-line'],
  ['null', '/docs/customer-data', '/docs/versioning', '/docs/changelog'],
  ['refund', '/docs/orders'],
  ['retry', '/docs/idempotency', '/docs/errors', '/docs/webhooks'],
  ['reschedule', '/docs/calendar', '/docs/reference#rescheduleAppointment'],
  ['timezone', '/docs/calendar'],
  ['429', '/docs/rate-limits'],
  ['opt-out', '/docs/messages'],
];

const searchField = '.pagefind-ui__search-input';
const resultLink = '.pagefind-ui__result-link';

/** Searches for a word, and waits for results. */
async function search(page: Page, word: string): Promise<void> {
  await page.getByRole('button', { name: 'Search' }).click();
  await page.getByRole('textbox', { name: 'Search' }).fill(word);
  await page.locator(resultLink).first().waitFor();
}

it.each(searches)('a search for %s leads to %s first', async (word, ...paths) => {
  const { page, faults } = await openPage('/docs');
  await search(page, word);
  expect(paths).toContain(await page.locator(resultLink).first().getAttribute('href'));
  expect(faults).toEqual([]);
});

it('finds an operation of the reference at its own heading', async () => {
  const { page } = await openPage('/docs');
  await search(page, 'rotate an api key');
  expect(await page.locator(resultLink).first().getAttribute('href')).toBe('/docs/reference#rotateApiKey');
});

it('search results have no axe violations', async () => {
  const { page } = await openPage('/docs');
  await search(page, 'webhook');
  // Pagefind names its field by a title and a placeholder, without a label.
  await expectAccessible(page, ['label-title-only']);
});

it("shows the page's address in its commands", async () => {
  const { page } = await openPage('/docs');
  await page.getByText(`npm install ${site.url}/docs/client.tgz`).waitFor();
  expect(await page.getByText('https://api.example.com').count()).toBe(0);
  const copied = await page.locator('button[data-code]').first().getAttribute('data-code');
  expect(copied).toContain(`npm install ${site.url}/docs/client.tgz`);
});

it('can be searched by keyboard', async () => {
  const { page } = await openPage('/docs');
  await page.locator(searchField).waitFor({ state: 'attached' });
  await page.keyboard.press('Control+k');
  await page.locator(`${searchField}:focus`).waitFor();
  await page.keyboard.type('refund');
  await page.locator(resultLink).first().waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'hidden' });
});

it('lets the first tab stop skip the navigation', async () => {
  const { page } = await openPage('/docs/errors');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  expect(new URL(page.url()).hash).toBe('#_top');
});

describe('without its script', () => {
  it.each([360, 1280])('the reference shows every operation, %i px wide, without axe violations', async (width) => {
    const page = await browser.open(`${site.url}/docs/404`, { width });
    await page.route('**/docs/reference/start.js', (route) => route.abort());
    await page.goto(`${site.url}/docs/reference#rotateApiKey`);
    const heading = page.getByRole('heading', { level: 3, name: 'Rotate an API key' });
    expect(await heading.evaluate((element) => element.getBoundingClientRect().top)).toBeLessThan(400);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width);
    await expectAccessible(page);
  });
});

describe('for assistants', () => {
  const read = async (path: string) => {
    const response = await fetch(site.url + path);
    expect([path, response.status]).toEqual([path, 200]);
    return await response.text();
  };

  it('llms.txt lists every page as Markdown, whose links lead to Markdown', async () => {
    const list = await read('/docs/llms.txt');
    const listed = [...list.matchAll(/\]\((\/docs\/[^)#]+)/g)].map(([, path]) => path!);
    expect(listed.sort()).toEqual([...guides.map(({ file }) => pathOf(file, '.md')), '/docs/reference.md'].sort());
    const texts = await Promise.all(listed.map(read));
    const links = new Set(
      texts.flatMap((text) => [...text.matchAll(/\]\((\/docs\/[^)#]+)/g)].map(([, path]) => path!)),
    );
    expect([...links].filter((path) => !listed.includes(path) && !path.startsWith('/docs/images/'))).toEqual([]);
  });
});

it('also has the packed clients under their versions', async () => {
  const bytesAt = async (path: string) => {
    const response = await fetch(`${site.url}/docs/${path}`);
    expect([path, response.status]).toEqual([path, 200]);
    return Buffer.from(await response.arrayBuffer());
  };
  expect(await bytesAt('client-1.0.0.tgz')).toEqual(await bytesAt('client.tgz'));
  expect(await bytesAt('client-python-1.0.0.tar.gz')).toEqual(await bytesAt('client-python.tar.gz'));
});

it('titles the home page with the site name, and offers links on the 404 page', async () => {
  const { page } = await openPage('/docs');
  expect(await page.title()).toBe('Customer Platform');
  await page.goto(`${site.url}/docs/none`);
  await page.getByRole('heading', { level: 1, name: 'Page not found' }).waitFor();
  await expectAccessible(page);
  await page.getByRole('main').getByRole('link', { name: 'Quickstart' }).click();
  await page.waitForURL('**/docs/quickstart');
});

it('has the packed client, as npm installs it', async () => {
  const response = await fetch(`${site.url}/docs/client.tgz`);
  expect(response.status).toBe(200);
  const files = gunzipSync(Buffer.from(await response.arrayBuffer())).toString('latin1');
  expect(files).toContain('package/package.json');
  expect(files).toContain('"name": "@customer-platform/client"');
});
