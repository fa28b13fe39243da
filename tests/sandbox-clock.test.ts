import { type Platform, startPlatform, waitFor } from '@customer-platform/testkit';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { dayMs, openYear, type Year } from './year.ts';

/** A year of a sandbox is played within seconds: what is due happens at its time, in its order, and nothing else is touched. */
let platform: Platform;
let year: Year;
beforeAll(async () => {
  platform = await startPlatform();
  year = await openYear(platform);
}, 120_000);
afterAll(async () => {
  await year?.stop();
  await platform?.stop();
});

it('plays a year: everything that falls due on the way happens at its time, in the order of its time', async () => {
  await year.begin();
  await year.ready();
  await year.expectPlayed();
}, 320_000);

it('leaves the live account as it is', async () => {
  const contact = await year.live.createContact({ body: { name: 'Lee', phone: '+4930901821' } });
  expect(Math.abs(Date.parse(contact.created_at) - Date.now())).toBeLessThan(dayMs);
});

it('runs on from there: what is made now is due by this clock', async () => {
  const { client } = year;
  const { now } = await client.getSandboxClock();
  const sendAt = new Date(Date.parse(now) + 2_000).toISOString();
  const channels = [{ channel: 'sms' as const, body: 'Soon' }];
  const { id } = await client.sendMessage({ body: { to: '+4930901822', channels, send_at: sendAt } });
  const sent = await waitFor('the message', async () => {
    const message = await client.getMessage({ params: { message_id: id } });
    return message.attempts.some(({ provider_id }) => provider_id !== null) && message;
  });
  expect(Date.parse(sent.attempts[0]!.started_at)).toBeGreaterThanOrEqual(Date.parse(sendAt));
});
