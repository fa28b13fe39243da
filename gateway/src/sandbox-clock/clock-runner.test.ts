import type { ClockLook } from '@customer-platform/contracts/core';
import {
  Clocks,
  createLogger,
  type Database,
  DueWatch,
  type Logger,
  openDatabase,
} from '@customer-platform/service-kit';
import { startPlatform, waitFor } from '@customer-platform/testkit';
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { ClockRunner, type RunnerParts } from './clock-runner.ts';

let sql: Database;
let sandboxes: string[];

beforeAll(async () => {
  const platform = await startPlatform({ services: ['webhooks'] });
  const accounts = await Promise.all(Array.from({ length: 25 }, () => platform.account()));
  sandboxes = accounts.map(({ sandboxId }) => sandboxId);
  // The tables, without the gateway that moves clocks in them.
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

/** Starts a gateway's runner, and the watch that it sleeps by. */
function start({
  services,
  log = createLogger('test', 'silent'),
}: {
  services: RunnerParts['services'];
  log?: Logger;
}) {
  const clocks = new Clocks();
  const bus = { tell: () => undefined, onPeers: () => undefined };
  const watch = new DueWatch(sql, { bus, clock: clocks.real, log, everyMs: 50 });
  const runner = new ClockRunner({ sql, log, clocks, services, watch });
  return {
    async stop() {
      await runner.stop();
      await watch.stop();
    },
  };
}

it('clocks that something holds, however many, leave their places to one that nothing holds', async () => {
  const [free, ...held] = sandboxes as [string, ...string[]];
  const looks = new Map<string, number>();
  const look = async (accountId: string): Promise<ClockLook[]> => {
    looks.set(accountId, (looks.get(accountId) ?? 0) + 1);
    return [{ waitsFor: accountId === free ? [] : ['deliveries'], nextMs: null, mark: 0 }];
  };
  for (const id of [...held, free]) await advance(id);
  const services = { look, move: async () => undefined, position: async () => 1 };
  const runner = start({ services });
  try {
    await waitFor('its advance', async () => {
      const rows = await sql`select from clock_advances where account_id = ${free}`;
      return rows.length === 0;
    });
  } finally {
    await runner.stop();
  }
  // Each look costs all services something: they are looked at for about a second, not as long as one that moves.
  expect(Math.max(...held.map((id) => looks.get(id) ?? 0))).toBeLessThan(60);
  expect(await sql`select from clock_advances`).toHaveLength(held.length);
});

it('clocks that advance by a year at once, however many, are moved eight at a time, and all arrive', async () => {
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
  const runner = start({ services: { look, move: async () => undefined, position: async () => 1 } });
  try {
    await waitFor('all', async () => (await sql`select from clock_advances`).length === 0);
  } finally {
    await runner.stop();
  }
  expect(most).toBeGreaterThan(1);
  expect(most).toBeLessThanOrEqual(8);
  const [moved] = await sql<{ count: number }[]>`
    select count(*)::int as count from sandbox_clocks where ahead_ms > 364 * 86400000::bigint and account_id = any(${sandboxes})`;
  expect(moved!.count).toBe(sandboxes.length);
});

it('a clock that waits for a service is logged once, however often it is tried', async () => {
  let looks = 0;
  const look = async (): Promise<ClockLook[]> => {
    looks++;
    throw new Error('calendar does not respond');
  };
  const warnings: unknown[] = [];
  const log = createLogger('test', 'silent');
  log.warn = ((facts: unknown) => warnings.push(facts)) as Logger['warn'];
  await advance(sandboxes[0]!);
  const services = { look, move: async () => undefined, position: async () => 1 };
  const runner = start({ services, log });
  try {
    await waitFor('three tries', () => looks >= 3);
  } finally {
    await runner.stop();
  }
  expect(warnings).toEqual([{ err: new Error('calendar does not respond'), account: sandboxes[0] }]);
});
