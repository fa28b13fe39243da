import type { Client } from '@customer-platform/client';
import { type ProcessPlatform, startProcessPlatform, waitFor } from '@customer-platform/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import postgres from 'postgres';
import { killAndSeeBack } from './processes.ts';
import { retryingClient } from './setup.ts';

const people = 5_000;
/** Number of contact pairs that share an email. */
const pairs = 40;
/** Milliseconds until the process is killed. The work takes several hundred. */
const moments = [15, 140, 300];

let platform: ProcessPlatform;
let sql: postgres.Sql;
let client: Client;
let accountId: string;

beforeAll(async () => {
  platform = await startProcessPlatform();
  const account = await platform.account();
  accountId = account.id;
  client = retryingClient(platform.gatewayUrl, account.key);
  sql = postgres(platform.databaseUrl, { max: 2, onnotice: () => undefined });
  await sql`
    insert into cdp.contacts (account_id, number, name, email, tags, fields, created_at, updated_at)
    select ${accountId}::uuid, n, 'Person ' || n,
      'p' || case when n <= ${2 * pairs} then (n + 1) / 2 else n end || '@example.com', '{vip}', '{}', now(), now()
    from generate_series(1, ${people}::int) as n`;
  await sql`insert into cdp.contact_numbers (account_id, last) values (${accountId}, ${people})`;
}, 120_000);
afterAll(async () => {
  await sql?.end();
  await platform?.stop();
}, 60_000);

/** Kills customer data after `ms` and waits until it is up again. */
async function killIn(ms: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, ms));
  await killAndSeeBack(platform, 'cdp');
}

describe('killed in the middle', () => {
  it.each(moments)(
    '%d ms in, the first computation of an audience completes, with one event per member',
    async (ms) => {
      const vips = { match: 'all' as const, conditions: [{ type: 'tag' as const, op: 'has' as const, tag: 'vip' }] };
      const { id } = await client.cdp.audiences.create({ body: { name: `VIPs ${ms}`, rules: vips } });
      await killIn(ms);
      const isReady = async () => (await client.cdp.audiences.get({ params: { audience_id: id } })).status === 'ready';
      await waitFor('the audience', isReady, 30_000);
      const [held] = await sql`
      select (select members from cdp.audiences where id = ${id}) as members,
        (select count(*)::int from cdp.audience_members where audience_id = ${id}) as rows`;
      expect(held).toEqual({ members: people, rows: people });
      const told = () => sql<{ events: number; contacts: number }[]>`
      select count(*)::int as events, count(distinct envelope::jsonb #>> '{data,contact,id}')::int as contacts
      from webhooks.events where type = 'audience.entered' and envelope::jsonb #>> '{data,audience,id}' = ${id}`;
      await waitFor('every event', async () => (await told())[0]!.contacts === people, 60_000);
      expect((await told())[0]).toEqual({ events: people, contacts: people });
    },
    120_000,
  );

  it.each(moments)(
    '%d ms in, the search for duplicates finds every pair once',
    async (ms) => {
      await sql`delete from cdp.duplicates where account_id = ${accountId}`;
      await client.cdp.duplicates.find({ body: {} });
      await killIn(ms);
      const found = async () => (await client.cdp.duplicates.list({ query: { limit: 100 } })).data;
      await waitFor('the pairs', async () => (await found()).length === pairs, 30_000);
      const isOver = async () => (await sql`select from cdp.duplicate_runs where due_at <= now()`).length === 0;
      await waitFor('the run to be over', isOver, 30_000);
      expect((await found()).map(({ reason }) => reason)).toEqual(Array(pairs).fill('email'));
    },
    60_000,
  );

  it('merges are committed or rolled back: each happens once, and merged contacts keep no data', async () => {
    const { data } = await client.cdp.duplicates.list({ query: { limit: 100 } });
    const merged = data.map(({ contacts: [, newer] }) => newer.id);
    await client.cdp.events.record({ body: { events: merged.map((contact) => ({ contact, name: 'visited' })) } });
    const merging = data.map(({ id, contacts: [older] }) =>
      client.cdp.duplicates.merge({ params: { duplicate_id: id }, body: { keep: older.id } }),
    );
    for (const ms of moments) await killIn(ms);
    const survivors = await Promise.all(merging);
    expect(survivors.map(({ id }) => id)).toEqual(data.map(({ contacts: [older] }) => older.id));
    const [state] = await sql`
      select (select count(*)::int from cdp.duplicates where account_id = ${accountId} and status = 'merged') as merged,
        (select count(*)::int from cdp.contacts where id = any(${merged}::uuid[]) and merged_into is not null) as gone,
        (select count(*)::int from cdp.contact_events where contact_id = any(${merged}::uuid[])) as left_behind,
        (select count(*)::int from cdp.contact_events where account_id = ${accountId} and name = 'visited') as events,
        (select count(*)::int from cdp.audience_members where contact_id = any(${merged}::uuid[])) as members`;
    expect(state).toEqual({ merged: pairs, gone: pairs, left_behind: 0, events: pairs, members: 0 });
    const told = async () => (await client.events.list({ query: { type: 'contact.merged', limit: 100 } })).data;
    await waitFor('an event for each merge', async () => (await told()).length >= pairs, 30_000);
    const ofWhom = (await told()).flatMap((event) => (event.type === 'contact.merged' ? event.data.merged.id : []));
    expect(ofWhom.sort()).toEqual([...merged].sort());
  }, 120_000);
});
