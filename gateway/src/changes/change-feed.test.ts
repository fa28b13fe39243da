import { type Database, inTransaction, openDatabase, type Sql } from '@customer-platform/service-kit';
import { type Platform, startPlatform, type TestAccount, waitFor } from '@customer-platform/testkit';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { recordChange } from './changes.sql.ts';

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

const statusOf = async ({ request }: TestAccount) => (await request('GET', '/v1/me')).status;

/** Revokes an account's keys as another gateway does, without an announcement. */
async function revoke(tx: Sql, { id }: TestAccount): Promise<void> {
  await tx`update keys set revoked_at = now() where account_id = ${id}`;
  await recordChange(tx, id);
}

/** Deletes the last changes, as if a standby without them took over. */
async function lose(tx: Sql, count: number): Promise<void> {
  await tx`update change_counter set number = number - ${count}`;
  await tx`delete from changes where number > (select number from change_counter)`;
}

/** Returns an account whose key the gateway has cached, once the gateway has seen the latest change. */
async function knownAccount(): Promise<TestAccount> {
  const [account, last] = [await platform.account(), await platform.account()];
  expect([await statusOf(account), await statusOf(last)]).toEqual([200, 200]);
  await inTransaction(sql, (tx) => revoke(tx, last));
  await waitFor('the last change to be seen', async () => (await statusOf(last)) === 401);
  return account;
}

const isRefused = (account: TestAccount) => async () => (await statusOf(account)) === 401;

it('sees a revocation by a database that took over without the last changes', async () => {
  const account = await knownAccount();
  await inTransaction(sql, (tx) => lose(tx, 5));
  await inTransaction(sql, (tx) => revoke(tx, account));
  await waitFor('the revocation', isRefused(account), 30_000);
});

it('sees a revocation that has the number of a lost change', async () => {
  const account = await knownAccount();
  await inTransaction(sql, async (tx) => {
    await lose(tx, 1);
    await revoke(tx, account);
  });
  await waitFor('the revocation', isRefused(account), 30_000);
  const other = await knownAccount();
  await inTransaction(sql, (tx) => revoke(tx, other));
  await waitFor('one after it', isRefused(other), 30_000);
});
