import { randomUUID } from 'node:crypto';
import { type Platform, startPlatform } from '@customer-platform/testkit';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { WorkCall } from './jobs.ts';
import { nothingPaused } from './queues/pauses.ts';
import { forgetOldRecords } from './upkeep.ts';

const dayMs = 86_400_000;
let platform: Platform;

beforeAll(async () => {
  platform = await startPlatform({ services: ['crm'] });
});
afterAll(async () => {
  await platform?.stop();
});

it('remembers a taken event for as long as it can come: kept 7 days to be sent again, then 7 days on the bus', async () => {
  const sql = platform.database('crm');
  const account = randomUUID();
  const now = new Date();
  for (const days of [14.5, 15.5]) {
    const takenAt = new Date(now.getTime() - days * dayMs);
    await sql`
      insert into inbox (account_id, event_id, consumer, taken_at) values (${account}, ${randomUUID()}, 'any', ${takenAt})`;
  }
  await forgetOldRecords.run({ tx: sql, now } as unknown as WorkCall<unknown>, nothingPaused);
  const rows = await sql<{ taken_at: Date }[]>`select taken_at from inbox where account_id = ${account}`;
  expect(rows.map(({ taken_at }) => taken_at.getTime())).toEqual([now.getTime() - 14.5 * dayMs]);
});
