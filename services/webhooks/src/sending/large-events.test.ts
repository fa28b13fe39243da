import { type Platform, type Receiver, startPlatform, startReceiver, waitFor } from '@customer-platform/testkit';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { emitContactCreated, recordEvents, register } from '../../test/webhooks.ts';

let platform: Platform;
let receiver: Receiver;
let hanging: Receiver;

// No try ends by its time-out while the test lasts.
beforeAll(async () => {
  platform = await startPlatform({ services: ['cdp', 'webhooks'], env: { WEBHOOKS_TIMEOUT_MS: '60000' } });
  [receiver, hanging] = await Promise.all([startReceiver(), startReceiver()]);
}, 60_000);
afterAll(async () => {
  await platform.stop();
  await Promise.all([receiver.stop(), hanging.stop()]);
});

/** Makes an account whose endpoints are trusted with ten tries at once, and hang from then on: some take won deals, the others lost ones. */
async function openHanging() {
  const account = await platform.account();
  const { received } = hanging;
  const before = received.length;
  const endpoints = Array.from({ length: 20 }, (_, i) => ['contact.created', i < 7 ? 'deal.won' : 'deal.lost']);
  await Promise.all(endpoints.map((events) => register(account, hanging.url, { events })));
  for (let each = 1; each <= 4; each++) {
    await emitContactCreated(account);
    await waitFor('the endpoints to earn trust', () => received.length === before + 20 * each);
  }
  return account;
}

it('beyond the bytes that an account may have under way keep nobody else from being served, however many of its events wait', async () => {
  const sql = platform.database('webhooks');
  const hostile = [await openHanging(), await openHanging(), await openHanging(), await openHanging()];
  const trusted = hanging.received.length;
  hanging.respond = () => undefined;
  const large = { bytes: 120_000 };
  for (const { id } of hostile) await recordEvents(sql, id, 11, { type: 'deal.won', ...large });
  await waitFor('them to be under way', () => hanging.received.length >= trusted + 150);
  for (const { id } of hostile) {
    await recordEvents(sql, id, 1, { type: 'deal.lost', ...large });
    await recordEvents(sql, id, 60, { type: 'deal.lost' });
  }
  for (let each = 1; each <= 10; each++) {
    // An endpoint that is held already would go on from memory.
    const account = await platform.account();
    await register(account, receiver.url);
    await emitContactCreated(account);
    await waitFor('its webhook', () => receiver.received.length === each);
  }
  expect(await sql`select from tries where error = 'timeout'`).toHaveLength(0);
}, 120_000);
