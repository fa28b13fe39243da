import type { ClockLook } from '@customer-platform/contracts/core';
import { Clocks, createLogger, type Database, openDatabase } from '@customer-platform/service-kit';
import { startPlatform, waitFor } from '@customer-platform/testkit';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { ClockRunner } from './clock-runner.ts';

let sql: Database;
let sandboxes: string[];

beforeAll(async () => {
  const platform = await startPlatform({ services: ['webhooks'] });
  const accounts = await Promise.all(Array.from({ length: 25 }, () => platform.account()));
  sandboxes = accounts.map(({ sandboxId }) => sandboxId);
  // The tables, without the gateway that moves clocks in them.
  const { DATABASE_DIRECT_URL, DATABASE_URL } = platform.env('gateway');
  await platform.stop();
  sql = openDatabase(DATABASE_DIRECT_URL ?? DATABASE_URL!, { pool: 4, service: 'gateway', statementMs: 60_000 });
}, 120_000);
afterAll(() => sql?.end());

it('clocks that something holds, however many, leave their places to one that nothing holds', async () => {
  const [free, ...held] = sandboxes as [string, ...string[]];
  const looks = new Map<string, number>();
  const look = async (_cell: string, accountId: string): Promise<ClockLook[]> => {
    looks.set(accountId, (looks.get(accountId) ?? 0) + 1);
    return [{ waitsFor: accountId === free ? [] : ['deliveries'], nextMs: null, mark: 0 }];
  };
  for (const id of [...held, free]) {
    await sql`insert into clock_advances (account_id, target) values (${id}, now() + interval '1 year')`;
  }
  const services = { look, move: async () => undefined, position: async () => 1 };
  const runner = new ClockRunner({ sql, log: createLogger('test', 'silent'), clocks: new Clocks(), services });
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
