import { randomUUID } from 'node:crypto';
import { findDeliveries } from '@customer-platform/contracts/webhooks';
import { Bus, createLogger, type Database } from '@customer-platform/service-kit';
import {
  type Platform,
  type Receiver,
  startPlatform,
  startReceiver,
  type TestAccount,
  waitFor,
} from '@customer-platform/testkit';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { delivery, emitContactCreated, register } from '../../test/webhooks.ts';

let platform: Platform;
let sql: Database;
let bus: Bus;
let receiver: Receiver;
let account: TestAccount;

beforeAll(async () => {
  platform = await startPlatform({ services: ['cdp', 'webhooks'], env: { WEBHOOKS_RETRY_SCHEDULE: '0,10s,1h' } });
  sql = platform.database('webhooks');
  const { NATS_URL, BUS_PREFIX } = platform.env('messaging');
  const log = createLogger('messaging', 'error');
  bus = await Bus.connect(NATS_URL!, { prefix: BUS_PREFIX!, service: 'messaging', log });
}, 60_000);
afterAll(async () => {
  await bus.close();
  await platform.stop();
});
beforeEach(async () => {
  account = await platform.account();
  receiver = await startReceiver();
});
afterEach(() => receiver.stop());

const ask = async (events: string[], accountId = account.id) =>
  (await bus.ask(findDeliveries, accountId, { events })).deliveries;

/** Returns the id of the event that a new contact publishes. */
async function eventOfNewContact(): Promise<string> {
  const { id } = await emitContactCreated(account);
  return (await platform.event(account.id, 'contact.created', (data) => data.contact.id === id)).id;
}

const utc = (instant: string) => new Date(instant).toISOString();

describe('the deliveries of an event', () => {
  it('have the last attempt and its response, or the creation time for a disabled endpoint', async () => {
    const [on, off] = [await register(account, receiver.url), await register(account, receiver.url, { active: false })];
    const event = await eventOfNewContact();
    const [delivered, skipped] = [await delivery(account, on.id), await delivery(account, off.id)];
    const common = { event: 'contact.created' };
    const expected = [
      {
        ...common,
        delivery: delivered.id,
        endpoint: on.id,
        status: 'delivered',
        response_status: 204,
        at: utc(delivered.tries[0]!.at),
      },
      {
        ...common,
        delivery: skipped.id,
        endpoint: off.id,
        status: 'skipped',
        response_status: null,
        at: utc(skipped.created_at),
      },
    ];
    // They were created at the same time, so their ids decide.
    expect(await ask([event])).toEqual(expected.sort((a, b) => (a.delivery < b.delivery ? -1 : 1)));
    expect(await ask([event.toUpperCase(), event])).toHaveLength(2);
  });

  it('keep the last response if a later attempt got none, with the time of that attempt', async () => {
    receiver.respond = (_, response) => response.writeHead(500).end();
    const endpoint = await register(account, receiver.url);
    const event = await eventOfNewContact();
    const first = await delivery(account, endpoint.id, ({ tries }) => tries.length === 1);
    expect(await ask([event])).toMatchObject([
      { status: 'pending', at: utc(first.tries[0]!.at), response_status: 500 },
    ]);
    receiver.respond = (_, response) => response.destroy();
    platform.clock.advance(12_000);
    const second = await delivery(account, endpoint.id, ({ tries }) => tries.length === 2);
    expect(second.tries[1]!.status).toBeNull();
    expect(second.tries[1]!.at).not.toBe(second.tries[0]!.at);
    expect(await ask([event])).toMatchObject([
      { status: 'pending', at: utc(second.tries[1]!.at), response_status: 500 },
    ]);
  });

  it('cover only these events, oldest first, and remain when the endpoint is deleted', async () => {
    const endpoint = await register(account, receiver.url);
    const events: string[] = [];
    for (let count = 0; count < 3; count++) {
      events.push(await eventOfNewContact());
      await delivery(account, endpoint.id, (one) => one.event_id === events.at(-1) && one.status === 'delivered');
      platform.clock.advance(1_000);
    }
    const newest = await ask([events[2]!]);
    expect(newest).toHaveLength(1);
    const asked = await ask([events[2]!, events[0]!, randomUUID()]);
    expect(asked[1]).toEqual(newest[0]);
    expect(asked.map(({ at }) => at)).toEqual(asked.map(({ at }) => at).sort());
    await account.client.webhooks.delete({ params: { endpoint_id: endpoint.id } });
    expect(await ask([events[2]!, events[0]!])).toEqual(asked);
  });

  it('are empty for no events, unknown ones, those of another account and those without endpoints', async () => {
    const untold = await eventOfNewContact();
    // Endpoints that exist when webhooks takes the event receive it.
    await waitFor('the event', async () => (await sql`select from events where id = ${untold}`).length === 1);
    const endpoint = await register(account, receiver.url);
    const event = await eventOfNewContact();
    await delivery(account, endpoint.id);
    const stranger = await platform.account();
    expect(await ask([])).toEqual([]);
    expect(await ask([randomUUID(), untold])).toEqual([]);
    expect(await ask([event], stranger.id)).toEqual([]);
    expect(await ask([event])).toHaveLength(1);
  });

  it('are the oldest hundred, by creation time and then by id', async () => {
    const event = randomUUID();
    const newest = new Date(platform.clock.now().getTime() - 60_000);
    await sql`
      insert into deliveries (account_id, endpoint_id, event_id, event, url, status, reason, created_at)
      select ${account.id}, gen_random_uuid(), ${event}, 'message.sent', 'https://example.com', 'skipped', 'endpoint_deleted',
        ${newest}::timestamptz - n / 2 * interval '1 minute'
      from generate_series(0, 101) as n`;
    const made = await sql<{ id: string }[]>`
      select id from deliveries where account_id = ${account.id} order by created_at, id`;
    expect(made).toHaveLength(102);
    const asked = await ask([event]);
    expect(asked.map((one) => one.delivery)).toEqual(made.slice(0, 100).map(({ id }) => id));
    expect(asked[0]!.at).toBe(new Date(newest.getTime() - 50 * 60_000).toISOString());
  });
});
