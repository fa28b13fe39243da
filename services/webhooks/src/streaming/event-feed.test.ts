import { randomUUID } from 'node:crypto';
import { Bus, createLogger, type Database, inTransaction } from '@customer-platform/service-kit';
import { type Platform, startPlatform, waitFor } from '@customer-platform/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { recordEvents } from '../../test/webhooks.ts';
import { retentionOf } from '../retention/retention.ts';
import { EventFeed } from './event-feed.ts';
import type { StreamSource } from './streams.ts';

let platform: Platform;
let sql: Database;
let bus: Bus;
let feed: EventFeed;

beforeAll(async () => {
  platform = await startPlatform({ services: ['webhooks'] });
  sql = platform.database('webhooks');
  const { NATS_URL, BUS_PREFIX } = platform.env('webhooks');
  const log = createLogger('test', 'silent');
  bus = await Bus.connect(NATS_URL!, { prefix: BUS_PREFIX!, service: 'webhooks', log });
  feed = new EventFeed({ sql, bus, log, clock: () => new Date(), retention: retentionOf(30) });
}, 60_000);
afterAll(async () => {
  await feed?.stop();
  await bus?.close();
  await platform?.stop();
});

/** Opens a reader of a stream that takes a page when told to, or all as they arrive. */
function openReader(account: string, after = 0) {
  const source: StreamSource = feed.open({ accountId: account, after, types: ['*'] });
  const ids: number[] = [];
  let isClosed = false;
  const take = async () => {
    const events = await source.next();
    ids.push(...events.map(({ id }) => Number(id)));
  };
  return {
    ids,
    take,
    takeAll: async () => {
      while (!isClosed) await take();
    },
    close: () => {
      isClosed = true;
      source.close();
    },
  };
}

/** Runs `act` while every read of events is blocked, after one has begun to wait. */
async function whileReading(begin: () => void, act: () => void): Promise<void> {
  await inTransaction(sql, async (tx) => {
    await tx`lock table events in access exclusive mode`;
    begin();
    await waitFor('a read', async () => {
      const waiting = await tx`select from pg_locks where relation = 'events'::regclass and not granted`;
      return waiting.length > 0;
    });
    act();
  });
}

const numbers = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

describe('when events are recorded while a position is read', () => {
  it('a stream opened there meanwhile gets each event once', async () => {
    const account = randomUUID();
    await recordEvents(sql, account, 500);
    const [first, second] = [openReader(account), openReader(account)];
    let ends: Promise<void>[] = [];
    await whileReading(
      () => (ends = [first.takeAll()]),
      () => {
        feed.recorded(new Set([account]));
        ends.push(second.takeAll());
      },
    );
    await waitFor('both to have the last', () => [first, second].every(({ ids }) => ids.at(-1) === 500));
    for (const { ids } of [first, second]) expect(ids).toEqual(numbers(500));
    first.close();
    second.close();
    await Promise.all(ends);
  });

  it('a stream with a slow reader gets each event once', async () => {
    const account = randomUUID();
    await recordEvents(sql, account, 500);
    const [slow, other] = [openReader(account), openReader(account)];
    let taken = Promise.resolve();
    await whileReading(
      () => (taken = slow.take()),
      () => feed.recorded(new Set([account])),
    );
    await taken;
    // The feed continues for others and reads nothing for the slow one.
    const end = other.takeAll();
    await waitFor('the other to have the last', () => other.ids.at(-1) === 500);
    const rest = slow.takeAll();
    await waitFor('the slow one to have the last', () => slow.ids.at(-1) === 500);
    for (const { ids } of [slow, other]) expect(ids).toEqual(numbers(500));
    slow.close();
    other.close();
    await Promise.all([end, rest]);
  });
});

it('a stream gets its turn before many earlier ones of another account', async () => {
  const [busy, other] = [randomUUID(), randomUUID()];
  await recordEvents(sql, busy, 40);
  await recordEvents(sql, other, 1);
  const order: string[] = [];
  const readers: ReturnType<typeof openReader>[] = [];
  const read = async (account: string, after: number) => {
    const reader = openReader(account, after);
    readers.push(reader);
    await reader.take();
    order.push(account);
  };
  let reads: Promise<void>[] = [];
  await whileReading(
    () => (reads = [read(busy, 0)]),
    () => reads.push(...numbers(39).map((after) => read(busy, after)), read(other, 0)),
  );
  await Promise.all(reads);
  // After the one being read and four of the others.
  expect([order.indexOf(other), order.length]).toEqual([5, 41]);
  for (const reader of readers) reader.close();
});
