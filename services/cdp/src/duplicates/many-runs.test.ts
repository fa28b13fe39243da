import { inTransaction } from '@customer-platform/service-kit';
import { startPlatform, type TestAccount, waitFor } from '@customer-platform/testkit';
import { afterAll, beforeEach, expect, it } from '@jest/globals';
import { lookForDuplicates } from '../../test/cdp.ts';
import { lockPairs } from '../contacts/identities.sql.ts';
import { coolDownAfter, noteDuration } from './duplicate-runs.sql.ts';

const platform = await startPlatform({ services: ['cdp'] });
const sql = platform.database('cdp');
afterAll(() => platform.stop());

let account: TestAccount;
let other: TestAccount;
beforeEach(async () => {
  [account, other] = await Promise.all([platform.account(), platform.account()]);
  for (const { client } of [account, other]) await addPair(client);
});

type Client = TestAccount['client'];
const addPair = async (client: Client) => {
  for (const _ of [1, 2]) await client.cdp.contacts.create({ body: { external_id: 'x' } });
};
const find = (client: Client) => client.cdp.duplicates.find({ body: {} });
const pairsOf = async (client: Client) => (await client.cdp.duplicates.list({})).data.length;
const hasPair = (client: Client) => waitFor('the pair', async () => (await pairsOf(client)) === 1);
/** Returns how many runs wait for the lock of the pairs. */
const waitingRuns = async () => {
  const rows = await sql`
    select 1 from pg_locks join pg_database d on d.oid = database
    where locktype = 'advisory' and not granted and d.datname = current_database()`;
  return rows.length;
};

it('a long run does not delay other customers', async () => {
  await inTransaction(sql, async (tx) => {
    await lockPairs(tx, account.id);
    await find(account.client);
    await waitFor('the run to wait', async () => (await waitingRuns()) === 1);
    await find(other.client);
    await hasPair(other.client);
  });
  await hasPair(account.client);
});

it('many long runs occupy one worker; the other serves short and small new accounts', async () => {
  const [long, large] = [account, await platform.account()];
  await addPair(large.client);
  await noteDuration(sql, long.id, 1_001);
  await sql`update contact_numbers set last = 1001 where account_id = ${large.id}`;
  await inTransaction(sql, async (tx) => {
    for (const { id } of [long, large]) await lockPairs(tx, id);
    for (const { client } of [long, large]) await find(client);
    await waitFor('one run to wait', async () => (await waitingRuns()) === 1);
    await lookForDuplicates(platform, sql, other); // a new account
    await lookForDuplicates(platform, sql, other); // its last run was short
    expect([await pairsOf(other.client), await waitingRuns()]).toEqual([1, 1]);
  });
  for (const { client } of [long, large]) await hasPair(client);
});

it("after a long run the customer's runs cool down, live and sandbox, and requested ones follow", async () => {
  await addPair(account.testClient);
  const sandbox = { id: account.sandboxId, owner: account.id };
  await coolDownAfter(sql, sandbox, platform.clock.now(), 100_000);
  const ids = [account.id, account.sandboxId];
  const areDeferred = async () => {
    const rows = await sql`
      select from duplicate_runs where account_id = any(${ids}::uuid[]) and due_at = rests_until`;
    return rows.length === 2;
  };
  const clients = [account.client, account.testClient];
  for (const client of clients) await find(client);
  await waitFor('both to wait', areDeferred);
  await find(account.client);
  await lookForDuplicates(platform, sql, other);
  await waitFor('both to wait', areDeferred);
  for (const client of clients) expect(await pairsOf(client)).toBe(0);
  platform.clock.advance(400_000);
  for (const client of clients) await hasPair(client);
});
