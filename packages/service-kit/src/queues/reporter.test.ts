import { type Platform, startPlatform } from '@customer-platform/testkit';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Reporter } from './reporter.ts';

let platform: Platform;
beforeAll(async () => {
  platform = await startPlatform({ services: ['crm'] });
});
afterAll(() => platform?.stop());

it('chooses one of many until it releases the lease', async () => {
  const sql = platform.database('crm');
  const [one, other] = [new Reporter(sql, 'test'), new Reporter(sql, 'test')];
  expect([await one.isChosen(), await other.isChosen(), await one.isChosen()]).toEqual([true, false, true]);
  await other.release();
  expect(await other.isChosen()).toBe(false);
  await one.release();
  expect([await other.isChosen(), await one.isChosen()]).toEqual([true, false]);
});
