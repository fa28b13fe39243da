import { type Platform, type Receiver, startPlatform, startReceiver, waitFor } from '@customer-platform/testkit';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { emitContactCreated, recordEvents, register } from '../../test/webhooks.ts';

let platform: Platform;
let receiver: Receiver;
let others: Receiver;

// No attempt times out during a test.
beforeAll(async () => {
  platform = await startPlatform({ services: ['cdp', 'webhooks'], env: { WEBHOOKS_TIMEOUT_MS: '60000' } });
  [receiver, others] = await Promise.all([startReceiver(), startReceiver()]);
}, 60_000);
afterAll(async () => {
  await platform.stop();
  await Promise.all([receiver.stop(), others.stop()]);
});

/** Creates an account with an endpoint for each of these kinds, each with a cap of ten attempts in flight. */
async function openTrusted(kinds: readonly string[]) {
  const account = await platform.account();
  const before = others.received.length;
  await Promise.all(kinds.map((kind) => register(account, others.url, { events: ['contact.created', kind] })));
  for (let each = 1; each <= 4; each++) {
    await emitContactCreated(account);
    await waitFor('the endpoints to earn trust', () => others.received.length === before + kinds.length * each);
  }
  return account;
}

/** Has unknown endpoints take one event each, in sequence: an endpoint already held would be served from memory. */
async function expectNewServed(): Promise<void> {
  for (let each = 1; each <= 10; each++) {
    const account = await platform.account();
    await register(account, receiver.url);
    await emitContactCreated(account);
    await waitFor('its webhook', () => receiver.received.length === each);
  }
}

it('fetched deliveries that wait for their account to have room in memory do not delay other accounts', async () => {
  const sql = platform.database('webhooks');
  const kinds = Array.from({ length: 20 }, (_, i) => (i < 7 ? 'deal.won' : 'deal.lost'));
  const accounts = [];
  while (accounts.length < 4) accounts.push(await openTrusted(kinds));
  const trusted = others.received.length;
  others.respond = () => undefined;
  for (const { id } of accounts) await recordEvents(sql, id, 11, { type: 'deal.won', bytes: 120_000 });
  await waitFor('deliveries to be in flight', () => others.received.length >= trusted + 150);
  for (const { id } of accounts) {
    await recordEvents(sql, id, 1, { type: 'deal.lost', bytes: 120_000 });
    await recordEvents(sql, id, 60, { type: 'deal.lost' });
  }
  await expectNewServed();
  expect(await sql`select from tries where error = 'timeout'`).toHaveLength(0);
}, 120_000);
