import { createClient } from '@customer-platform/client';
import { defaultPrefix } from '@customer-platform/deploy/servers/nats-config';
import {
  type ProcessPlatform,
  type Receiver,
  startProcessPlatform,
  startReceiver,
  waitFor,
} from '@customer-platform/testkit';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { jetstream } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import type { Page } from 'playwright-core';
import { signIn, startBrowser, type TestBrowser } from '../test/browser.ts';

let browser: TestBrowser;
let platform: ProcessPlatform;
let receiver: Receiver;
let page: Page;
const failures: string[] = [];
const hosts = new Set<string>();

/** Publishes a message that is not an event. It is dead after the first attempt. */
async function publishUnparseable(): Promise<void> {
  const { host, username, password } = new URL(platform.natsUrl('crm'));
  const nats = await connect({ servers: host, user: username, pass: password, inboxPrefix: '_INBOX.crm.reply' });
  try {
    await jetstream(nats).publish(`${defaultPrefix}.event.public.crm.deal.created`, 'no JSON');
  } finally {
    await nats.close();
  }
}

beforeAll(async () => {
  receiver = await startReceiver();
  receiver.respond = (_request, response) => response.writeHead(503).end();
  platform = await startProcessPlatform({ OTEL_BSP_SCHEDULE_DELAY: '200' });
  browser = await startBrowser();
  const { key } = await platform.account({ name: 'Northwind' });
  const client = createClient({ baseUrl: platform.gatewayUrl, apiKey: key });
  await client.webhooks.create({ body: { url: receiver.url, events: ['contact.created'] } });
  await client.cdp.contacts.create({ body: { name: 'Zoë Müller' } });
  await receiver.next();
  await publishUnparseable();
  page = await browser.open(platform.adminUrl);
  page.on('pageerror', (error) => failures.push(error.message));
  page.on('console', (message) => message.text().includes('Content Security Policy') && failures.push(message.text()));
  page.on('request', (request) => hosts.add(new URL(request.url()).host));
  await page.reload();
  await signIn(page, platform.adminToken);
}, 180_000);

afterAll(async () => {
  await browser?.close();
  await platform?.stop();
  await receiver?.stop();
}, 60_000);

const row = (name: RegExp) => page.getByRole('row', { name });

/** Returns a button of the dialog that is open. */
function inDialog(name: string) {
  return page.getByRole('dialog').getByRole('button', { name, exact: true });
}

/** Confirms the open dialog, and returns the text of the toast. */
async function confirm(button: string): Promise<string> {
  await inDialog(button).click();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  const toast = page.locator('.toast');
  const result = await toast.locator('div').innerText();
  await toast.getByRole('button', { name: 'Dismiss' }).click();
  await toast.waitFor({ state: 'detached' });
  return result;
}

/** Opens the deliveries queue from the list of all queues, even if it is folded. */
async function openDeliveries(): Promise<void> {
  await page.getByRole('button', { name: 'Unfold all' }).click();
  await row(/^webhooks\/deliveries/)
    .getByRole('link', { name: /deliveries/ })
    .first()
    .click();
  await page.getByRole('heading', { level: 1, name: 'webhooks/deliveries' }).waitFor();
}

it('shows what is failing and what is dead', async () => {
  await row(/^Failing/)
    .getByText(receiver.url)
    .waitFor();
  await page.getByRole('row', { name: /^Dead/ }).getByText('1 dead event').first().waitFor();
});

it('pauses deliveries and resumes them', async () => {
  await page.keyboard.press('g');
  await page.keyboard.press('q');
  await openDeliveries();
  await page.getByRole('button', { name: 'Pause', exact: true }).first().click();
  await expect(page.getByRole('dialog').innerText()).resolves.toMatch(/Holds back [\d,]+ entr(?:y|ies)/);
  await page.getByLabel('Reason').fill('their server is down');
  expect(await confirm('Pause')).toContain('Paused webhooks/deliveries');
  await page.getByRole('table', { name: 'Pauses' }).getByText('their server is down').waitFor();
  await page
    .getByRole('navigation')
    .getByRole('link', { name: /^Overview/ })
    .click();
  await page
    .getByText(/The whole queue is paused by [^(]{1,80}\([^)]{0,40}\d\d:\d\d:\d\d\): “their server is down”/)
    .waitFor();
  await row(/^Paused/)
    .getByRole('link', { name: /deliveries/ })
    .click();
  await page.getByRole('button', { name: 'Resume', exact: true }).first().click();
  expect(await confirm('Resume')).toContain('Resumed webhooks/deliveries');
  await page.getByRole('table', { name: 'Pauses' }).waitFor({ state: 'detached' });
});

it('requeues a dead event', async () => {
  await page
    .getByRole('navigation')
    .getByRole('link', { name: /^Overview/ })
    .click();
  await row(/^Dead/)
    .getByRole('link', { name: /dead events?$/ })
    .first()
    .click();
  const rows = page.getByRole('table', { name: 'Dead events' }).getByRole('row');
  await rows.nth(1).waitFor();
  const event = rows.nth(1).getByRole('link').first();
  const address = await event.getAttribute('href');
  await event.click();
  await page.getByText('no JSON').waitFor();
  await page.getByRole('button', { name: 'hex' }).click();
  await expect(page.locator('pre').innerText()).resolves.toContain('000000  6e 6f');
  await page.getByRole('button', { name: 'Requeue' }).click();
  expect(await confirm('Requeue')).toMatch(/^Requeued 1 event/);
  await page.getByRole('heading', { level: 1, name: 'Dead events' }).waitFor();
  // An event that dies again is a new entry with another URL.
  await page.locator(`a[href="${address}"]`).first().waitFor({ state: 'detached' });
});

it('opens a trace from a delivery', async () => {
  await waitFor('the delivery to be exported', async () => {
    const response = await fetch(`${platform.adminUrl}/admin/traces?operation=createContact`, {
      headers: { authorization: `Bearer ${platform.adminToken}` },
    });
    const { data } = (await response.json()) as { data: { status: string }[] };
    return data[0]?.status === 'error';
  });
  await page.getByRole('navigation').getByRole('link', { name: 'Queues' }).click();
  await openDeliveries();
  await row(/^Northwind/)
    .getByRole('link', { name: 'Traces' })
    .click();
  await page.getByLabel('Operation').fill('createContact');
  await page.keyboard.press('Enter');
  await page.getByRole('table', { name: 'Traces' }).getByRole('link', { name: 'createContact' }).first().click();
  await page.getByRole('list', { name: 'Spans' }).waitFor();
  await page
    .getByRole('button', { name: /^webhooks POST/ })
    .last()
    .click();
  await page.locator('.waterfall .facts').getByText('127.0.0.1', { exact: true }).waitFor();
});

it('opens an endpoint with its deliveries, and the trace of a failed attempt', async () => {
  await page
    .getByRole('navigation')
    .getByRole('link', { name: /^Overview/ })
    .click();
  await row(/^Failing/)
    .locator('a[href*="/endpoints/"]')
    .first()
    .click();
  await page.getByRole('heading', { level: 1, name: receiver.url }).waitFor();
  const delivery = page.getByRole('table', { name: 'Last deliveries' }).getByRole('row', { name: /^contact\.created/ });
  await delivery.getByText('503', { exact: true }).first().waitFor();
  await delivery.getByRole('link', { name: 'trace', exact: true }).click();
  await page.getByRole('heading', { level: 1, name: 'Trace of createContact' }).waitFor();
  await page.getByRole('term').filter({ hasText: 'Errors' }).locator('..').getByRole('button').click();
  expect(await page.evaluate('document.activeElement.textContent')).toContain('503');
});

it('finds an endpoint by part of the URL, and an account by part of the name', async () => {
  const find = async (text: string) => {
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: /^Account name/ }).fill(text);
    await page.getByRole('option').first().waitFor();
    await page.keyboard.press('Enter');
  };
  await find(new URL(receiver.url).host);
  await page.getByRole('heading', { level: 1, name: receiver.url }).waitFor();
  await find('NORTHW');
  await page.getByRole('heading', { level: 1, name: 'Northwind' }).waitFor();
});

it('switches a module off, and shows the reason in the last changes', async () => {
  await page.getByRole('button', { name: 'Modules' }).click();
  await page.getByRole('dialog').getByLabel('crm').uncheck();
  await page.getByLabel('Reason').fill('they cancelled it, ticket 4711');
  expect(await confirm('Save')).toMatch(/^Modules of Northwind that are on: .*cdp/);
  await page.getByRole('term').filter({ hasText: 'Modules off' }).locator('..').getByText('crm').waitFor();
  await page.getByRole('table', { name: 'Last changes' }).getByText('they cancelled it, ticket 4711').waitFor();
});

it('shows the requests of an account by minute', async () => {
  const requests = page.getByRole('figure').filter({ hasText: 'Requests per minute' });
  await requests.getByRole('img', { name: /requests now \d+, at most [1-9]/ }).waitFor({ timeout: 90_000 });
}, 120_000);

it('creates a key and revokes it', async () => {
  await page.getByRole('navigation').getByRole('link', { name: 'Accounts' }).click();
  await page.getByRole('link', { name: 'Northwind', exact: true }).click();
  await page.getByRole('button', { name: 'Create key' }).click();
  await page.getByLabel('Name').fill('On call');
  await page.getByLabel('*', { exact: true }).check();
  await inDialog('Create key').click();
  const key = await page.getByRole('dialog').locator('code').innerText();
  expect(key).toMatch(/^cp_live_[0-9A-Za-z]{40}$/);
  await inDialog('Done').click();
  await page.getByRole('button', { name: 'Revoke On call' }).click();
  await expect(page.getByRole('dialog').innerText()).resolves.toContain(`ends in ${key.slice(-4)}`);
  expect(await confirm('Revoke')).toContain('Revoked the key “On call”');
  await row(/^On call/)
    .filter({ hasText: 'revoked' })
    .waitFor();
  expect(await page.content()).not.toContain(key);
});

it('sends requests only to the control plane, and violates no content security policy', () => {
  expect([...hosts]).toEqual([new URL(platform.adminUrl).host]);
  expect(failures).toEqual([]);
});
