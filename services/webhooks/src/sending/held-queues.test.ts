import { randomUUID } from 'node:crypto';
import { Clocks, type Database, inTransaction, migrate, openDatabase } from '@customer-platform/service-kit';
import { waitFor } from '@customer-platform/testkit';
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { allMigrations } from '../../test/before-partitions.ts';
import { ownDatabase } from '../../test/own-database.ts';
import type { HeldEndpoint } from './held-endpoint.ts';
import { HeldQueues } from './held-queues.ts';
import { dry, unread } from './queue-phase.ts';

// A schema that no process uses.
let sql: Database;
let queues: HeldQueues;
let key: { accountId: string; endpointId: string };
beforeAll(async () => {
  const url = await ownDatabase();
  await migrate(url, 'webhooks', allMigrations);
  sql = openDatabase(url, { pool: 4, service: 'webhooks' });
});
afterAll(async () => {
  await sql?.end();
});
beforeEach(async () => {
  await sql`delete from queues`;
  key = { accountId: randomUUID(), endpointId: randomUUID() };
  await sql`insert into queues (account_id, endpoint_id, due_at) values (${key.accountId}, ${key.endpointId}, now())`;
  queues = holding(sql);
});

const holding = (through: Database) =>
  new HeldQueues({ sql: through, clocks: new Clocks(), maxPerEndpoint: 10, maxHeld: 100, dropped: () => undefined });
const look = (by = queues) => by.takeDue({ accounts: [], endpoints: [], isWoken: true });

/** Takes the queue without reading it. */
async function take(by = queues): Promise<HeldEndpoint> {
  expect(await look(by)).toBe(true);
  return by.get(key.endpointId)!;
}

it('a lease that was not renewed because its row was locked is renewed in the next round', async () => {
  const held = await take();
  const { certainUntilMs } = held;
  await inTransaction(sql, async (tx) => {
    await tx`select from queues for update`;
    await waitFor('a round of renewals', async () => {
      await queues.keepUp();
      return performance.now() > certainUntilMs - 5_900;
    });
  });
  expect(held.certainUntilMs).toBe(certainUntilMs);
  await queues.keepUp();
  expect(held.certainUntilMs).toBeGreaterThan(certainUntilMs);
});

it('a lease that expired and was taken again holds from then on, and its fetched deliveries are read again', async () => {
  const held = await take();
  held.ready = [{ id: 'd' }] as HeldEndpoint['ready'];
  held.queue = dry({ version: 0, laterAt: null });
  held.certainUntilMs = 0;
  await sql`update queues set leased_until = now()`;
  await look();
  expect([held.certainUntilMs > performance.now(), held.ready, held.queue]).toEqual([true, [], unread]);
});

it('a queue released during a look is not held because of the look', async () => {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  let isHeldUp = false;
  const { promise: seen, resolve: see } = Promise.withResolvers<void>();
  // The response of a look arrives later.
  const late = new Proxy(sql, {
    apply(target, self, [strings, ...values]: [TemplateStringsArray, ...unknown[]]) {
      const statement = Reflect.apply(target, self, [strings, ...values]);
      if (!isHeldUp || !strings[0]?.includes('with candidate')) return statement;
      return statement.then(async (rows: unknown) => {
        see();
        await released;
        return rows;
      });
    },
  });
  const through = holding(late);
  await take(through);
  isHeldUp = true;
  const looked = look(through);
  await seen;
  await through.releaseAll();
  release();
  await looked;
  expect(through.get(key.endpointId)).toBeUndefined();
});
