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
import { startBrowser, type TestBrowser } from '../test/browser.ts';
import {
  makeAndRevokeKey,
  openTraceOfDelivery,
  openTraceOfFailure,
  pauseAndResumeDeliveries,
  requeueDeadEvent,
  signIn,
} from '../test/flows.ts';

let browser: TestBrowser;
let platform: ProcessPlatform;
let receiver: Receiver;
let page: Page;
const failures: string[] = [];
const hosts = new Set<string>();

/** Publishes a message that is no event, which is dead at its first try. */
async function publishRubbish(): Promise<void> {
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
  await client.createEndpoint({ body: { url: receiver.url, events: ['contact.created'] } });
  await client.createContact({ body: { name: 'Zoë Müller' } });
  await receiver.next();
  await publishRubbish();
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

it('shows what fails and what is dead', async () => {
  await page
    .getByRole('row', { name: /^Failing/ })
    .getByText(receiver.url)
    .waitFor();
  await page.getByRole('row', { name: /^Dead/ }).getByText('1 dead event').first().waitFor();
});

it('pauses deliveries and resumes them', async () => {
  await pauseAndResumeDeliveries(page);
});

it('requeues a dead event', async () => {
  await requeueDeadEvent(page, { text: 'no JSON', hex: '6e 6f' });
});

it('opens a trace from a delivery', async () => {
  await waitFor('the delivery to be exported', async () => {
    const response = await fetch(`${platform.adminUrl}/admin/traces?operation=createContact`, {
      headers: { authorization: `Bearer ${platform.adminToken}` },
    });
    const { data } = (await response.json()) as { data: { status: string }[] };
    return data[0]?.status === 'error';
  });
  await openTraceOfDelivery(page, { accountName: 'Northwind', operation: 'createContact', host: '127.0.0.1' });
});

it('opens the trace of a failed try from its endpoint', async () => {
  await openTraceOfFailure(page, { operation: 'createContact' });
});

it('makes a key and revokes it', async () => {
  await makeAndRevokeKey(page, 'Northwind');
});

it('asks for nothing but the control plane, and breaks no policy', () => {
  expect([...hosts]).toEqual([new URL(platform.adminUrl).host]);
  expect(failures).toEqual([]);
});
