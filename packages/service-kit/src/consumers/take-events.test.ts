import { randomUUID, randomUUIDv7 } from 'node:crypto';
import { type Platform, startPlatform, waitFor } from '@customer-platform/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect, headers, type NatsConnection } from '@nats-io/transport-node';
import { consumerRunner } from '../../test/consumer-runner.ts';
import type { ReceivedEvent } from '../bus/consume-loop.ts';
import type { Database, Sql } from '../database/database.ts';
import { AccountsLocked } from '../outbox/failed-attempt.ts';

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

/** Runs one consumer with its own clock. */
const withConsumer = consumerRunner(() => platform);

/** Returns a function that takes the events of a batch one after the other. */
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

describe('a message from the bus that is not an event', () => {
  const malformed = [
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
        for (const bytes of malformed) await publish('rubbish.made', bytes);
        await publish('rubbish.made', JSON.stringify(envelope('rubbish.made', { n: 1 })));
        await waitFor('the event after the malformed ones', () => taken.includes(1));
        const dead = await waitFor('all malformed ones', async () => {
          const rows = await failedOf('rubbish.made');
          return rows.length === malformed.length && rows;
        });
        expect(taken).toEqual([1]);
        expect(dead.every(({ dead_at, reason }) => dead_at !== null && reason.includes('not an event'))).toBe(true);
        const bytesOf = (text: string | Uint8Array) => Buffer.from(text as string).toString('hex');
        expect(dead.map(({ bytes }) => bytes.toString('hex')).sort()).toEqual(malformed.map(bytesOf).sort());
      },
    );
  });
});

describe('large messages', () => {
  it('are taken a few at a time, however many wait, which bounds memory and time', async () => {
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
      await waitFor('all messages to have come', async () => {
        const { num_pending } = await manager.consumers.info(prefix, 'crm-large-made');
        return batches.length === 1 && num_pending === 0;
      });
      gate.resolve();
      await waitFor('all messages to be taken', () => batches.reduce((sum, bytes) => sum + bytes, 0) > 12 * large);
      expect(Math.max(...batches)).toBeLessThan(5 * large);
    });
  });
});

describe('an event that a consumer cannot take', () => {
  it('delays no other event, even with more than a thousand of them', async () => {
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
      await waitFor('the event after the bad ones', () => taken.includes(1), 60_000);
      await waitFor('all bad events set aside', async () => (await failedOf('many.failed')).length === many, 60_000);
    });
  }, 150_000);

  it('is set aside if it lacks a required value, and the rest of its batch is taken', async () => {
    const kind = 'lacks.value';
    const taken: number[] = [];
    const takeAll = async (events: ReceivedEvent<{ n: number }>[], tx: Sql) => {
      for (const { data } of events) await tx`select ${data.n}::integer`;
      taken.push(...events.map(({ data }) => data.n));
    };
    for (const data of [{ n: 1 }, {}, { n: 2 }]) await publish(kind, JSON.stringify(envelope(kind, data)));
    const test = async () => {
      await waitFor('the incomplete one', async () => (await failedOf(kind).catch(() => [])).length === 1);
      await waitFor('the other events', () => taken.includes(1) && taken.includes(2));
    };
    await withConsumer(kind, takeAll, test);
  });

  it('that times out waiting for a lock delays no other event of its account, nor other accounts', async () => {
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
      await waitFor('the event behind the slow account', () => taken.includes(20));
      await waitFor('slow events set aside', async () => (await failedOf(kind)).length === 20);
      // One of them is attempted twice, in its batch and alone, and none of the batches that follow.
      expect(waited).toBeLessThanOrEqual(2);
      for (let n = 21; n < 24; n++) {
        await publish(kind, JSON.stringify({ ...envelope(kind, { n }), account: slow }));
        await publish(kind, JSON.stringify(envelope(kind, { n })));
        await waitFor('the event behind the slow one', () => taken.includes(n));
      }
      await waitFor('slow events set aside', async () => (await failedOf(kind)).length === 23);
      expect(waited).toBeLessThanOrEqual(2);
    });
  });

  it('of a locked account is not dead after ten attempts, since the lock ends some day', async () => {
    const kind = 'long.locked';
    let tries = 0;
    const taken: number[] = [];
    const take = ({ account, data }: ReceivedEvent<{ n: number }>) => {
      if (++tries < 15) throw new AccountsLocked([account]);
      taken.push(data.n);
    };
    await withConsumer(kind, each(take), async (tick) => {
      await publish(kind, JSON.stringify(envelope(kind, { n: 1 })));
      await waitFor('the event to be taken', () => {
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
      await waitFor('the event to be set aside', async () => (await failedOf('late.taken')).length === 1);
      works = true;
      tick(60_000);
      await waitFor('the event to be taken', () => taken.length > 0);
      await waitFor('its row to be deleted', async () => (await failedOf('late.taken')).length === 0);
      await publish('late.taken', text);
      await publish('late.taken', JSON.stringify(envelope('late.taken', { n: 6 })));
      await waitFor('the next event', () => taken.includes(6));
      expect(taken).toEqual([5, 7, 6, 7]);
    });
  });

  it('is dead after ten attempts, with its kind, account and the last reason', async () => {
    let tries = 0;
    const take = () => {
      throw new Error(`try ${++tries} failed`);
    };
    await withConsumer('ever.failed', each(take), async (tick) => {
      const event = envelope('ever.failed', { n: 1 });
      await publish('ever.failed', JSON.stringify(event));
      // Once for each ended attempt: in the middle of one, the clock would expire its lease.
      let ended = 0;
      const dead = await waitFor(
        'the event to be dead',
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
      // A batch of one is attempted twice when it comes, so that one bad event stops no other.
      expect(dead.reason).toBe(`Error: try ${tries} failed`);
      expect(JSON.parse(dead.bytes.toString())).toEqual(event);
    });
  }, 90_000);
});

describe('events that failed', () => {
  it('are retried by account: thousands of failing events of one account delay no other account', async () => {
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
      await waitFor('the event of the other account', async () => {
        // The service itself has no such consumer and may have attempted the event, which is then due again later.
        tick(10_000);
        return (await left()).every(({ account_id }) => account_id === failing.account);
      });
      expect(await left()).toHaveLength(5_000);
    });
  });
});
