import type { Client } from '@customer-platform/client';
import { mergeContacts, type Platform, startPlatform, startReceiver, waitFor } from '@customer-platform/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { dayMs, openYear, type Year } from './year.ts';

/** Fast-forwards a sandbox by a year: due work happens on time and in order, and nothing else changes. */
let platform: Platform;
let year: Year;
beforeAll(async () => {
  platform = await startPlatform();
  year = await openYear(platform);
}, 300_000);
afterAll(async () => {
  await year?.stop();
  await platform?.stop();
});

it('plays a year: all due work happens on time and in order', async () => {
  await year.begin();
  await year.ready();
  await year.expectPlayed();
}, 1_000_000);

it('does not change the live account', async () => {
  const contact = await year.live.cdp.contacts.create({ body: { name: 'Lee', phone: '+4930901821' } });
  expect(Math.abs(Date.parse(contact.created_at) - Date.now())).toBeLessThan(dayMs);
});

it('continues from there: new work is due by the sandbox clock', async () => {
  const { client } = year;
  const { now } = await client.sandbox.clock.get();
  const sendAt = new Date(Date.parse(now) + 8_000).toISOString();
  const channels = [{ channel: 'sms' as const, body: 'Soon' }];
  const { id } = await client.messages.send({ body: { to: '+4930901822', channels, send_at: sendAt } });
  const sent = await waitFor('the message', async () => {
    const message = await client.messages.get({ params: { message_id: id } });
    return message.attempts.some(({ provider_id }) => provider_id !== null) && message;
  });
  expect(Date.parse(sent.attempts[0]!.started_at)).toBeGreaterThanOrEqual(Date.parse(sendAt));
});

it('the error about a past time names the time of the sandbox clock', async () => {
  const { client } = year;
  const { now } = await client.sandbox.clock.get();
  const channels = [{ channel: 'sms' as const, body: 'Soon' }];
  const send_at = new Date(Date.now() + dayMs).toISOString();
  const refused = client.messages.send({ body: { to: '+4930901822', channels, send_at } });
  const message = await refused.catch((error: Error) => error.message);
  const [, told] = /^send_at must be in the future, after (\S+)$/.exec(String(message)) ?? [];
  expect(Date.parse(told!)).toBeGreaterThanOrEqual(Date.parse(now));
  expect(Date.parse(told!)).toBeLessThanOrEqual(Date.parse((await client.sandbox.clock.get()).now));
});

describe('periods of days follow the sandbox clock', () => {
  async function advance(client: Client, days: number): Promise<void> {
    const { now } = await client.sandbox.clock.get();
    await client.sandbox.clock.advance({
      body: { advance_to: new Date(Date.parse(now) + days * dayMs).toISOString() },
    });
    await waitFor('the clock', async () => (await client.sandbox.clock.get()).status === 'ready', 120_000);
  }

  it('a merge can be undone for 30 days', async () => {
    const { testClient: client } = await platform.account();
    const merge = async () => {
      const [keep, merged] = [
        await client.cdp.contacts.create({ body: { name: 'Ada' } }),
        await client.cdp.contacts.create({ body: { name: 'Ada' } }),
      ];
      return { params: await mergeContacts(client, { keep: keep.id, merged: merged.id }), body: {} };
    };
    const [first, second] = [await merge(), await merge()];
    await advance(client, 29);
    expect((await client.cdp.duplicates.undo(first)).data).toHaveLength(2);
    await advance(client, 1.5);
    await expect(client.cdp.duplicates.undo(second)).rejects.toMatchObject({
      status: 409,
      message: expect.stringContaining('30 days'),
    });
  }, 180_000);

  it('a website is read again each day', async () => {
    const website = await startReceiver();
    try {
      website.respond = (request, response) => {
        if (request.path !== '/prices') return void response.writeHead(404).end();
        response.setHeader('content-type', 'text/html');
        response.end('<h1>Prices</h1><p>A cut is 49 euros.</p>');
      };
      const { testClient: client } = await platform.account();
      const { id: source_id } = await client.agents.knowledge.sources.create({
        body: { kind: 'website', url: `${website.url}/prices`, refresh: 'daily' },
      });
      const read = async () =>
        (await client.agents.knowledge.sources.get({ params: { source_id } })).status === 'ready';
      await waitFor('the first reading', read);
      const readings = () => website.received.filter(({ path }) => path === '/prices').length;
      expect(readings()).toBe(1);
      await advance(client, 3.5);
      expect(readings()).toBe(4);
    } finally {
      await website.stop();
    }
  }, 180_000);

  it('an attempt waits for Retry-After, and an endpoint that fails for five days is disabled', async () => {
    const receiver = await startReceiver();
    try {
      receiver.respond = (_request, response) => response.writeHead(503, { 'retry-after': '7200' }).end();
      const { testClient: client } = await platform.account();
      const { id: endpoint_id } = await client.webhooks.create({
        body: { url: receiver.url, events: ['contact.created'] },
      });
      await client.cdp.contacts.create({ body: { name: 'Ada' } });
      const tries = async () =>
        (await client.webhooks.deliveries.list({ params: { endpoint_id } })).data[0]?.tries ?? [];
      await waitFor('the first attempt', async () => (await tries()).length === 1);
      await advance(client, 0.5);
      const [first, again] = (await tries()).map(({ at }) => Date.parse(at));
      expect(again! - first!).toBeGreaterThanOrEqual(7_200_000);
      expect(again! - first!).toBeLessThan(7_200_000 * 1.1 + 60_000);
      await advance(client, 5);
      const endpoint = () => client.webhooks.get({ params: { endpoint_id } });
      expect((await endpoint()).active).toBe(true);
      await client.cdp.contacts.create({ body: { name: 'Ben' } });
      await waitFor('the endpoint to be off', async () => !(await endpoint()).active);
      await waitFor('its event', async () => {
        const { data } = await client.events.list({ query: { type: 'webhook.disabled' } });
        return data.length === 1;
      });
    } finally {
      await receiver.stop();
    }
  }, 180_000);
});
