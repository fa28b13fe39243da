import { type Platform, startPlatform, waitFor } from '@customer-platform/testkit';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Database } from '../database/database.ts';
import { createLogger } from '../telemetry/logging.ts';
import { BatchWriter } from './batch-writer.ts';

let platform: Platform;
let sql: Database;
beforeAll(async () => {
  platform = await startPlatform({ services: ['crm'] });
  sql = platform.database('crm');
});
afterAll(() => platform?.stop());

/** Fails as PostgreSQL does when a statement exceeds its timeout. */
async function timeOut(): Promise<void> {
  await sql.unsafe(
    `do $$ begin raise exception 'canceling statement due to statement timeout' using errcode = '57014'; end $$`,
  );
}

it('writes fewer items at once after a statement timeout, and then more again', async () => {
  const batches: number[][] = [];
  const writer = new BatchWriter<number>({
    name: 'slow',
    log: createLogger('test', 'silent'),
    maxBatch: 8,
    async write(items) {
      batches.push([...items]);
      if (batches.length < 3) await timeOut();
      return [];
    },
    refused: () => undefined,
  });
  for (let item = 1; item <= 8; item++) writer.add(item);
  await waitFor('all to be written', () => writer.waiting === 0);
  await writer.stop();
  expect(batches).toEqual([
    [1, 2, 3, 4, 5, 6, 7, 8],
    [1, 2, 3, 4],
    [1, 2],
    [3, 4, 5],
    [6, 7, 8],
  ]);
});
