import { randomUUID, randomUUIDv7 } from 'node:crypto';
import { type Platform, startPlatform, waitFor } from '@customer-platform/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect, headers, type NatsConnection } from '@nats-io/transport-node';
import { consumerRunner } from '../../test/consumer-runner.ts';
import type { ReceivedEvent } from '../bus/consume-loop.ts';
import type { Database, Sql } from '../database/database.ts';
import { AccountsLocked } from '../outbox/failed-try.ts';

let platform: Platform;
let sql: Database;
let nats: NatsConnection;
let prefix: string;

beforeAll(async () => {
  platform = await startPlatform({ services: ['crm'] });
  sql = platform.database('crm');
  const { NATS_URL, BUS_PREFIX } = platform.env('crm');
  prefix = BUS_PREFIX!;
  nats = await connect({ servers: NATS_URL! });
});
afterAll(async () => {
  await nats?.close();
  await platform?.stop();
});

const envelope = (type: string, data: object) => ({
  id: randomUUIDv7(),
  type,
  timestamp: '2026-11-20T09:00:00Z',
  account: randomUUID(),
  mode: 'live',
  data,
});

async function publish(kind: string, bytes: string | Uint8Array): Promise<void> {
  const options = { headers: headers() };
  options.headers.set('Event-Sequence', '7');
  await jetstream(nats).publish(`${prefix}.event.internal.cdp.${kind}`, bytes, options);
}

/** Runs one consumer, with a clock of its own. */
const withConsumer = consumerRunner(() => platform);

/** Returns a function that takes a batch one event after the other. */
function each(take: (event: ReceivedEvent<{ n: number }>) => unknown) {
  return (events: ReceivedEvent<{ n: number }>[]) => {
    for (const event of events) take(event);
  };
}

const failedOf = (queue: string) =>
  sql<
    {
      account_id: string;
      bytes: Buffer;
      reason: string;
      last_error: string | null;
      tries: number;
      kind: string | null;
      dead_at: Date | null;
    }[]
  >`
    select account_id, bytes, reason, last_error, tries, kind, dead_at from failed_events where queue = ${queue} order by id`;

describe('what comes from the bus and is no event', () => {
  const rubbish = [
    'no JSON',
    '',
    'null',
    '[]',
    '42',
    '"text"',
    '{',
    '{}',
    JSON.stringify({ ...envelope('rubbish.made', {}), account: 'x' }),
    JSON.stringify({ ...envelope('rubbish.made', {}), id: 7 }),
    JSON.stringify({ ...envelope('rubbish.made', {}), data: null }),
    JSON.stringify({ ...envelope('rubbish.made', {}), mode: 'both' }),
    JSON.stringify({ ...envelope('rubbish.made', {}), type: null }),
    new Uint8Array([0xff, 0xfe, 0x00, 0x80]),
    '['.repeat(100_000),
  ];

  it('is dead at once with its bytes and a reason, and the events after it are taken', async () => {
    const taken: number[] = [];
    await withConsumer(
      'rubbish.made',
      each((event) => taken.push(event.data.n)),
      async () => {
        for (const bytes of rubbish) await publish('rubbish.made', bytes);
        await publish('rubbish.made', JSON.stringify(envelope('rubbish.made', { n: 1 })));
        await waitFor('the event after the rubbish', () => taken.includes(1));
        const dead = await waitFor('all rubbish', async () => {
          const rows = await failedOf('rubbish.made');
          return rows.length === rubbish.length && rows;
        });
        expect(taken).toEqual([1]);
        expect(dead.every(({ dead_at, reason }) => dead_at !== null && reason.includes('no event'))).toBe(true);
        const bytesOf = (text: string | Uint8Array) => Buffer.from(text as string).toString('hex');
        expect(dead.map(({ bytes }) => bytes.toString('hex')).sort()).toEqual(rubbish.map(bytesOf).sort());
      },
    );
  });
});

describe('large messages', () => {
  it('are taken a few at a time, however many wait: none needs more memory or time than there is', async () => {
    const batches: number[] = [];
    const large = 1_000_000;
    const gate = Promise.withResolvers<void>();
    const take = async (events: ReceivedEvent[]) => {
      batches.push(events.reduce((sum, { text }) => sum + text.length, 0));
      await gate.promise;
    };
    await withConsumer('large.made', take, async () => {
      for (let n = 0; n <= 12; n++) {
        await publish('large.made', JSON.stringify(envelope('large.made', { n, filler: n ? 'x'.repeat(large) : '' })));
      }
      const manager = await jetstreamManager(nats);
      await waitFor('all of them to have come', async () => {
        const { num_pending } = await manager.consumers.info(prefix, 'crm-large-made');
        return batches.length === 1 && num_pending === 0;
      });
      gate.resolve();
      await waitFor('all of them to be taken', () => batches.reduce((sum, bytes) => sum + bytes, 0) > 12 * large);
      expect(Math.max(...batches)).toBeLessThan(5 * large);
    });
  });
});

describe('an event that a consumer cannot take', () => {
  it('delays no other, however many there are: a thousand of them fill no window', async () => {
    const taken: number[] = [];
    const take = ({ data }: ReceivedEvent<{ n: number }>) => {
      if (data.n < 0) throw new Error('cannot be taken');
      taken.push(data.n);
    };
    const many = 1_200;
    await withConsumer('many.failed', each(take), async () => {
      const bad = Array.from({ length: many }, () =>
        publish('many.failed', JSON.stringify(envelope('many.failed', { n: -1 }))),
      );
      await Promise.all(bad);
      await publish('many.failed', JSON.stringify(envelope('many.failed', { n: 1 })));
      await waitFor('the event after them', () => taken.includes(1), 60_000);
      await waitFor('all of them set aside', async () => (await failedOf('many.failed')).length === many, 60_000);
    });
  }, 150_000);

  it('is set aside where it lacks what is to be written, and the others of its batch are taken', async () => {
    const kind = 'lacks.value';
    const taken: number[] = [];
    const takeAll = async (events: ReceivedEvent<{ n: number }>[], tx: Sql) => {
      for (const { data } of events) await tx`select ${data.n}::integer`;
      taken.push(...events.map(({ data }) => data.n));
    };
    for (const data of [{ n: 1 }, {}, { n: 2 }]) await publish(kind, JSON.stringify(envelope(kind, data)));
    const test = async () => {
      await waitFor('the one without', async () => (await failedOf(kind).catch(() => [])).length === 1);
      await waitFor('the others', () => taken.includes(1) && taken.includes(2));
    };
    await withConsumer(kind, takeAll, test);
  });

  it('that waits in vain for a lock lets no other of its account wait as long, nor others behind them', async () => {
    const kind = 'long.waited';
    const slow = envelope(kind, { n: -1 }).account;
    let waited = 0;
    const taken: number[] = [];
    const take = ({ account, data }: ReceivedEvent<{ n: number }>) => {
      if (account === slow) {
        waited++;
        throw Object.assign(new Error('canceling statement due to statement timeout'), { code: '57014' });
      }
      taken.push(data.n);
    };
    for (let n = 0; n < 20; n++) await publish(kind, JSON.stringify({ ...envelope(kind, { n }), account: slow }));
    await publish(kind, JSON.stringify(envelope(kind, { n: 20 })));
    await withConsumer(kind, each(take), async () => {
      await waitFor('the event behind them', () => taken.includes(20));
      await waitFor('them to be set aside', async () => (await failedOf(kind)).length === 20);
      // One of them is tried twice, with the others of its batch and alone, and none of the batches that follow.
      expect(waited).toBeLessThanOrEqual(2);
      for (let n = 21; n < 24; n++) {
        await publish(kind, JSON.stringify({ ...envelope(kind, { n }), account: slow }));
        await publish(kind, JSON.stringify(envelope(kind, { n })));
        await waitFor('the event behind it', () => taken.includes(n));
      }
      await waitFor('them to be set aside', async () => (await failedOf(kind)).length === 23);
      expect(waited).toBeLessThanOrEqual(2);
    });
  });

  it('of an account that is locked is not dead after ten tries: whoever holds the lock ends some day', async () => {
    const kind = 'long.locked';
    let tries = 0;
    const taken: number[] = [];
    const take = ({ account, data }: ReceivedEvent<{ n: number }>) => {
      if (++tries < 15) throw new AccountsLocked([account]);
      taken.push(data.n);
    };
    await withConsumer(kind, each(take), async (tick) => {
      await publish(kind, JSON.stringify(envelope(kind, { n: 1 })));
      await waitFor('it is taken', () => {
        tick(10_000);
        return taken.length === 1;
      });
    });
  });

  it('is taken once, as soon as it can be', async () => {
    let works = false;
    const taken: number[] = [];
    const take = ({ data, sequence }: ReceivedEvent<{ n: number }>) => {
      if (!works) throw new Error('not yet');
      taken.push(data.n, sequence);
    };
    await withConsumer('late.taken', each(take), async (tick) => {
      const text = JSON.stringify(envelope('late.taken', { n: 5 }));
      await publish('late.taken', text);
      await waitFor('it is set aside', async () => (await failedOf('late.taken')).length === 1);
      works = true;
      tick(60_000);
      await waitFor('it is taken', () => taken.length > 0);
      await waitFor('its row is gone', async () => (await failedOf('late.taken')).length === 0);
      await publish('late.taken', text);
      await publish('late.taken', JSON.stringify(envelope('late.taken', { n: 6 })));
      await waitFor('what came after', () => taken.includes(6));
      expect(taken).toEqual([5, 7, 6, 7]);
    });
  });

  it('is dead after ten tries, with its kind, account and the last reason', async () => {
    let tries = 0;
    const take = () => {
      throw new Error(`try ${++tries} failed`);
    };
    await withConsumer('ever.failed', each(take), async (tick) => {
      const event = envelope('ever.failed', { n: 1 });
      await publish('ever.failed', JSON.stringify(event));
      // Once for each try that has ended: in the middle of one, its lease would be over.
      let ended = 0;
      const dead = await waitFor(
        'it is dead',
        async () => {
          const [row] = await failedOf('ever.failed');
          const isWaiting = row !== undefined && (row.tries === 1 || row.last_error !== null);
          if (isWaiting && row.tries > ended) {
            ended = row.tries;
            tick(3_600_000);
          }
          return row?.dead_at && row;
        },
        60_000,
      );
      expect(dead).toMatchObject({ account_id: event.account, tries: 10, kind: 'ever.failed' });
      // The batch of one is tried twice when it comes, so that one bad event stops no other.
      expect(dead.reason).toBe(`Error: try ${tries} failed`);
      expect(JSON.parse(dead.bytes.toString())).toEqual(event);
    });
  }, 90_000);
});

describe('events that failed', () => {
  it('are taken again by account: thousands of one that fail each time delay no other', async () => {
    const kind = 'often.failed';
    const others = envelope(kind, { n: 1 });
    const take = ({ data }: ReceivedEvent<{ n: number }>) => {
      if (data.n < 0) throw new Error('cannot be taken');
    };
    const failing = envelope(kind, { n: -1 });
    const insert = (event: object, account: string, count: number) => sql`
      insert into failed_events (account_id, queue, subject, kind, headers, bytes, reason, tries, due_at)
      select ${account}, ${kind}, ${`${prefix}.event.internal.cdp.${kind}`}, ${kind}, '{}',
        convert_to(${JSON.stringify(event)}, 'UTF8'), 'test', 1, now() - interval '1 minute' from generate_series(1, ${count})`;
    await insert(failing, failing.account, 5_000);
    await insert(others, others.account, 1);
    await withConsumer(kind, each(take), async (tick) => {
      const left = async () => await failedOf(kind);
      await waitFor('the other account’s', async () => {
        // The service itself, which has no such consumer, may have tried it: it is due again later.
        tick(10_000);
        return (await left()).every(({ account_id }) => account_id === failing.account);
      });
      expect(await left()).toHaveLength(5_000);
    });
  });
});
