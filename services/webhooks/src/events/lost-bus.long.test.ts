import type { ChildProcess } from 'node:child_process';
import { type Platform, type Relay, startPlatform, startRelay, waitFor } from '@customer-platform/testkit';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { holderOfEvents, passEventsOn } from '../../test/event-lease.ts';
import { startSecondProcess } from '../../test/second-process.ts';
import { emitContactCreated } from '../../test/webhooks.ts';

/** Number of times the connection breaks. If the process has no request open at that moment, nothing is lost. */
const rounds = 3;

let platform: Platform;
/** Between the second process and the bus. */
let relay: Relay;
let second: ChildProcess;
/** The process whose connection stays up, by the name in its lease. */
let first: string;

beforeAll(async () => {
  platform = await startPlatform({ services: ['cdp', 'webhooks'] });
  // Read before the second process starts; afterwards either could hold the lease.
  first = await waitFor('a process that takes events', () => holderOfEvents(platform));
  const { NATS_URL } = platform.env('webhooks');
  relay = await startRelay(NATS_URL!);
  second = await startSecondProcess(platform, { NATS_URL: relay.url });
}, 60_000);
afterAll(async () => {
  second?.kill('SIGKILL');
  await Promise.all([platform?.stop(), relay?.stop()]);
});

beforeEach(async () => {
  relay.mend();
  await passEventsOn(platform, first);
}, 60_000);

describe('a process that takes events', () => {
  it('and loses its bus connection is replaced by a connected one', async () => {
    const account = await platform.account();
    await emitContactCreated(account);
    await waitFor('the event', async () => (await account.client.events.list()).data.length === 1);
    expect(await holderOfEvents(platform)).not.toBe(first);
    relay.cut();
    await waitFor('the other process to follow', async () => (await holderOfEvents(platform)) === first);
    await emitContactCreated(account);
    await waitFor('the event after it', async () => (await account.client.events.list()).data.length === 2);
  }, 90_000);

  it('takes events that were in transit when its connection broke before newer ones', async () => {
    const account = await platform.account();
    const { id } = await emitContactCreated(account, 'Name 0');
    const numbers = Array.from({ length: 6 * rounds }, (_, index) => index + 1);
    const eventsOf = async () => {
      const { data } = await account.client.events.list({ query: { after_sequence: 0, limit: 100 } });
      return data.map((event) => (event.data as { contact: { name: string } }).contact.name);
    };
    for (const number of numbers) {
      const isLost = number % 6 === 1;
      if (isLost) {
        await waitFor('those before it', async () => (await eventsOf()).length === number);
        relay.stall();
      }
      await account.client.cdp.contacts.update({ params: { contact_id: id }, body: { name: `Name ${number}` } });
      if (!isLost) continue;
      // The account's own event may be among them, or arrive before the subscription.
      const made = () => platform.events(account.id).filter(({ type }) => type.startsWith('contact.'));
      await waitFor('the event in transit', () => made().length === number + 1);
      relay.mend();
    }
    await waitFor('all', async () => (await eventsOf()).length === numbers.length + 1);
    expect(await eventsOf()).toEqual([0, ...numbers].map((number) => `Name ${number}`));
  }, 90_000);
});
