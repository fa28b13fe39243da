import { type TestAccount, waitFor } from '@customer-platform/testkit';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { askServer, type PairedPlatform, startOnPair } from './postgres-pair.ts';
import { childrenOf, signalAll } from './processes.ts';

let paired: PairedPlatform;
beforeAll(async () => {
  paired = await startOnPair(['cdp', 'webhooks'], { synchronous: false }, (direct, primary, standby) => ({
    DATABASE_URL: direct,
    DATABASE_READ_URL: direct.replace(primary, standby),
  }));
}, 120_000);
afterAll(() => paired?.stop(), 60_000);

/** Returns the time at the standby, and the statements that sessions of a service began there since a time. */
const lookAtStandby = (service: string, since = new Date()) =>
  askServer(paired.pair.standbyUrl, async (sql) => {
    const [row] = await sql<{ now: Date }[]>`select clock_timestamp() as now`;
    const rows = await sql<{ query: string }[]>`
      select query from pg_stat_activity where application_name = ${service} and query_start > ${since}`;
    return { now: row!.now, statements: rows.map(({ query }) => query).join('\n') };
  });

const atStandby = (statement: string) => askServer(paired.pair.standbyUrl, (sql) => sql.unsafe(statement));

async function listsAtStandby(account: TestAccount): Promise<void> {
  const { now } = await lookAtStandby('cdp');
  await waitFor('lists to come from the standby', async () => {
    await account.client.listContacts({});
    return (await lookAtStandby('cdp', now)).statements.includes('from contacts');
  });
}

/** Has a database's contacts take a minute to be read at the standby, by a policy for their owner, until it is lifted. */
const slowAtStandby = {
  set: `alter table cdp.contacts enable row level security; alter table cdp.contacts force row level security;
    create policy slow on cdp.contacts using (not pg_is_in_recovery() or pg_sleep(60)::text = '')`,
  lift: `drop policy slow on cdp.contacts; alter table cdp.contacts no force row level security;
    alter table cdp.contacts disable row level security`,
};

it('a standby that is too slow and not behind costs an account one slow list, and no refusal', async () => {
  const { platform, pair } = paired;
  const account = await platform.account();
  await account.client.createContact({ body: { name: 'Ada' } });
  await listsAtStandby(account);
  const { pathname } = new URL(platform.env('cdp').DATABASE_URL!);
  const inDatabase = (url: string, statement: string) =>
    askServer(new URL(pathname, url).href, (sql) => sql.unsafe(statement));
  await inDatabase(pair.primaryUrl, slowAtStandby.set);
  const policies = () => inDatabase(pair.standbyUrl, 'select from pg_policies');
  await waitFor('the policy', async () => (await policies()).length > 0);
  await listsAtStandby(account);
  const { now } = await lookAtStandby('cdp');
  for (let count = 0; count < 3; count++) expect((await account.client.listContacts({})).data).toHaveLength(1);
  expect((await lookAtStandby('cdp', now)).statements).not.toContain('from contacts');
  await inDatabase(pair.primaryUrl, slowAtStandby.lift);
  await listsAtStandby(await platform.account());
}, 120_000);

it('lists are read from the standby, and from the primary while it is behind, lacks what they are of, or is gone', async () => {
  const { pair, platform } = paired;
  const account = await platform.account();
  const { client } = account;
  await listsAtStandby(account);
  await atStandby('select pg_wal_replay_pause()');
  // What is asked for by its id is always the primary's; so is a list that the standby has nothing of yet.
  const { id } = await client.createContact({ body: { name: 'Ada' } });
  expect((await client.getContact({ params: { contact_id: id } })).name).toBe('Ada');
  const endpoint = await client.createEndpoint({ body: { url: 'http://127.0.0.1:9/', events: ['order.declined'] } });
  expect((await client.listDeliveries({ params: { endpoint_id: endpoint.id } })).data).toEqual([]);
  await waitFor('the standby to be too far behind', async () => {
    const { data } = await client.listContacts({});
    return data.some((contact) => contact.id === id);
  });
  await atStandby('select pg_wal_replay_resume()');
  await listsAtStandby(account);
  const lists = async () => {
    for (let count = 0; count < 10; count++) expect((await client.listContacts({})).data).toHaveLength(1);
  };
  const processes = [pair.standby.pid, ...childrenOf(pair.standby.pid)];
  signalAll(processes, 'SIGSTOP');
  await lists();
  signalAll(processes, 'SIGCONT');
  // Another's: this account may avoid it for the next half a minute, since a list of it was there when it stood still.
  await listsAtStandby(await platform.account());
  process.kill(pair.standby.pid, 'SIGKILL');
  await lists();
}, 180_000);
