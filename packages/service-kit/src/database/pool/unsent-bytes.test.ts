import { type Platform, startPlatform } from '@customer-platform/testkit';
import { afterAll, afterEach, beforeAll, describe, it } from '@jest/globals';
import { expectToGoOn } from '../../../test/unsent-bytes.ts';
import { type Database, openDatabase } from '../database.ts';

let platform: Platform;
let sql: Database | undefined;

beforeAll(async () => {
  platform = await startPlatform({ services: ['crm'] });
});
afterEach(() => sql?.end({ timeout: 1 }));
afterAll(() => platform?.stop());

describe.each([
  ['a long start-up message', false],
  ['a short one, as for a pooler', true],
])('with %s', (_name, isPooled) => {
  it('the pool goes on at once after a connection that closed in the turn in which a statement was written', async () => {
    const pool = openDatabase(platform.env('crm').DATABASE_URL!, { pool: 1, service: 'crm', isPooled });
    sql = pool;
    await expectToGoOn(pool);
  }, 60_000);
});
