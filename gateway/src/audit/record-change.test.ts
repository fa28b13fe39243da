import { ApiError } from '@customer-platform/contracts/core';
import { type Database, openDatabase } from '@customer-platform/service-kit';
import { type Platform, startPlatform } from '@customer-platform/testkit';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { recordAround } from './record-change.ts';

let platform: Platform;
let sql: Database;
beforeAll(async () => {
  platform = await startPlatform({ services: [] });
  sql = openDatabase(platform.env('gateway').DATABASE_URL!, { pool: 1, service: 'gateway' });
}, 60_000);
afterAll(async () => {
  await sql?.end();
  await platform?.stop();
});

/** Runs recordAround without a free connection for the second statement. Returns the error and the audit entries. */
async function changeWhileBusy(target: string, work: () => Promise<{ isChanged: boolean; result: string }>) {
  let uses = 0;
  const busy = new ApiError('rate_limited', 'Too many of your requests are in progress', {});
  const onConnection = (use: (on: typeof sql) => Promise<unknown>) => (++uses === 2 ? Promise.reject(busy) : use(sql));
  const call = { account: { name: 'Ada' }, now: new Date(), onConnection } as never;
  const failure = await recordAround(call, { action: 'queues.pause', target, reason: undefined }, work).catch(
    (error: Error) => error,
  );
  const rows = await sql`select is_certain from audit where target = ${target}`;
  return { failure, rows: [...rows] };
}

it('the audit entry of a change stays if no connection is free to confirm it', async () => {
  const { failure, rows } = await changeWhileBusy('queues/made', async () => ({
    isChanged: true,
    result: 'made',
  }));
  expect(failure).toMatchObject({ code: 'rate_limited' });
  expect(rows).toEqual([{ is_certain: false }]);
});
