import type { ClockLook } from '@customer-platform/contracts/core';
import { Clocks, createLogger, type Database, DueWatch, openDatabase, WorkQueue } from '@customer-platform/service-kit';
import { startPlatform, waitFor } from '@customer-platform/testkit';
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { type AdvanceParts, clockAdvances } from './clock-advances.ts';

let sql: Database;
let sandboxes: string[];

beforeAll(async () => {
  const platform = await startPlatform({ services: ['webhooks'] });
  const accounts = await Promise.all(Array.from({ length: 25 }, () => platform.account()));
  sandboxes = accounts.map(({ sandboxId }) => sandboxId);
  // Only the tables are needed, so stop the gateway, which would move clocks too.
  const { DATABASE_DIRECT_URL, DATABASE_URL } = platform.env('gateway');
  await platform.stop({ keepsDatabase: true });
  sql = openDatabase(DATABASE_DIRECT_URL ?? DATABASE_URL!, { pool: 4, service: 'gateway', statementMs: 60_000 });
}, 120_000);
afterEach(async () => {
  await sql`delete from clock_advances`;
});
afterAll(() => sql?.end());

const advance = (id: string) =>
  sql`insert into clock_advances (account_id, target) values (${id}, now() + interval '1 year')`;

/** Moves clocks during `work`, like a gateway whose services reply with `look`. Returns the errors that operators would see. */
async function during(look: AdvanceParts['services']['look'], work: () => Promise<unknown>): Promise<unknown[]> {
  const log = createLogger('test', 'silent');
  const clocks = new Clocks();
  const bus = { publishNews: () => undefined, onPeerNews: () => undefined, isConnected: () => true };
  const watch = new DueWatch(sql, { bus, clock: clocks.real, log, everyMs: 50 });
  const paused = { isWhole: false, accounts: [], endpoints: [] };
  const errors: unknown[] = [];
  const membership = { paused: () => paused, failed: (error: unknown) => errors.push(error), close: () => undefined };
  const clockWork = { register: () => () => undefined, wake: () => undefined };
  const services = { look, move: async () => undefined, position: async () => 1 };
  const foundation = { sql, bus, log, clocks, clockWork, queues: { open: () => membership }, watch };
  const queue = new WorkQueue(foundation, clockAdvances({ sql, clocks, services }));
  try {
    await work();
  } finally {
    await queue.stop();
    await watch.stop();
  }
  return errors;
}

it('held clocks, however many, do not delay a clock that nothing holds', async () => {
  const [free, ...held] = sandboxes as [string, ...string[]];
  const looks = new Map<string, number>();
  const look = async (accountId: string): Promise<ClockLook[]> => {
    looks.set(accountId, (looks.get(accountId) ?? 0) + 1);
    return [{ waitsFor: accountId === free ? [] : ['deliveries'], nextMs: null, mark: 0 }];
  };
  for (const id of [...held, free]) await advance(id);
  const errors = await during(look, () =>
    waitFor('its advance', async () => {
      const rows = await sql`select from clock_advances where account_id = ${free}`;
      return rows.length === 0;
    }),
  );
  // Each look costs every service something, so a held clock is looked at for only about a second.
  expect(Math.max(...held.map((id) => looks.get(id) ?? 0))).toBeLessThan(60);
  expect(await sql`select from clock_advances`).toHaveLength(held.length);
  expect(errors).toEqual([]);
});

it('of many clocks that advance by a year, eight are moved at a time, and all arrive', async () => {
  const now = new Map<string, number>();
  let most = 0;
  const look = async (accountId: string): Promise<ClockLook[]> => {
    now.set(accountId, (now.get(accountId) ?? 0) + 1);
    most = Math.max(most, now.size);
    await new Promise((resolve) => setImmediate(resolve));
    now.delete(accountId);
    return [{ waitsFor: [], nextMs: null, mark: 0 }];
  };
  for (const id of sandboxes) await advance(id);
  await during(look, () => waitFor('all', async () => (await sql`select from clock_advances`).length === 0));
  expect(most).toBeGreaterThan(1);
  expect(most).toBeLessThanOrEqual(8);
  const [moved] = await sql<{ count: number }[]>`
    select count(*)::int as count from sandbox_clocks where ahead_ms > 364 * 86400000::bigint and account_id = any(${sandboxes})`;
  expect(moved!.count).toBe(sandboxes.length);
});

it('a clock that waits for a service is retried, and operators see the reason', async () => {
  let looks = 0;
  const look = async (): Promise<ClockLook[]> => {
    looks++;
    throw new Error('calendar does not respond');
  };
  await advance(sandboxes[0]!);
  const errors = await during(look, () => waitFor('two attempts', () => looks >= 2));
  expect(errors).toContainEqual(new Error('calendar does not respond'));
  const [row] = await sql`select last_error from clock_advances`;
  expect(row!.last_error).toContain('calendar does not respond');
});
