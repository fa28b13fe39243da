import { eachOf } from '@customer-platform/client';
import type { Contact } from '@customer-platform/contracts/cdp';
import { inTransaction, lockChanges } from '@customer-platform/service-kit';
import { rowsRead, startPlatform, type TestAccount, waitFor } from '@customer-platform/testkit';
import { afterAll, beforeEach, expect, it } from '@jest/globals';
import { during, mergePair, refusal } from '../../test/cdp.ts';
import { selectContacts, updateContactRow } from './contacts.sql.ts';

const platform = await startPlatform({ services: ['cdp'] });
const sql = platform.database('cdp');
afterAll(() => platform.stop());

let account: TestAccount;
beforeEach(async () => {
  account = await platform.account();
});

const start = '2026-01-01T00:00:00Z';
const list = (query: { updated_since?: string; limit?: number; starting_after?: string; q?: string; tag?: string }) =>
  account.client.cdp.contacts.list({ query: { updated_since: start, ...query } });
const names = async (query: Parameters<typeof list>[0] = {}) => (await list(query)).data.map(({ name }) => name);
const make = (name: string, more: object = {}) => account.client.cdp.contacts.create({ body: { name, ...more } });
const change = (id: string, body: object) => account.client.cdp.contacts.update({ params: { contact_id: id }, body });

it('lists contacts changed since a time, least recently changed first', async () => {
  const [a, b] = [await make('A'), await make('B')];
  platform.clock.advance(1_000);
  const c = await make('C');
  const changed = await change(a.id, { fields: { n: 1 } });
  expect(await names()).toEqual(['B', 'C', 'A']);
  expect(await names({ updated_since: c.updated_at })).toEqual(['C', 'A']);
  expect((await list({ updated_since: changed.updated_at })).data.at(-1)).toEqual(changed);
  platform.clock.advance(1_000);
  expect(await names({ updated_since: platform.clock.now().toISOString() })).toEqual([]);
  await account.client.cdp.contacts.delete({ params: { contact_id: b.id } });
  expect(await names()).toEqual(['C', 'A']);
  await expect(list({ updated_since: '2026-01-01' })).rejects.toMatchObject(refusal(400, 'updated_since'));
});

it('includes concurrent changes: an entry that changes appears again later, and none is missing', async () => {
  const made = [];
  for (let index = 0; index < 7; index++) made.push(await make(`P${index}`));
  const seen: string[] = [];
  for await (const { name } of eachOf((page) => list({ limit: 2, ...page }))) {
    seen.push(name);
    if (seen.length === 2) await change(made[1]!.id, { name: 'P1 again' });
    if (seen.length === 4) await change(made[4]!.id, { name: 'P4 again' });
  }
  expect(seen).toEqual(['P0', 'P1', 'P2', 'P3', 'P5', 'P6', 'P1 again', 'P4 again']);
  const foreign = await platform.account();
  const { id } = await foreign.client.cdp.contacts.create({ body: { name: 'Foreign' } });
  for (const starting_after of [
    id,
    'x',
    `2026-13-01T00:00:00.000000Z_${id}`,
    `2026-02-30T00:00:00.000000Z_${id}`,
    `0000-01-01T00:00:00.000000Z_${id}`,
  ])
    await expect(list({ starting_after })).rejects.toMatchObject(refusal(400, 'starting_after'));
});

/** Runs `work` while an uncommitted write holds the account's change lock and has changed a contact at `at`. */
const whileWriting = async (contact: Contact, at: Date, work: () => Promise<void>) =>
  await during(
    sql,
    async (tx) => {
      await lockChanges(account.id)(tx);
      await updateContactRow(tx, account.id, { ...contact, name: `${contact.name} again` }, at);
    },
    work,
  );
const isListWaiting = async () =>
  (await sql`select from pg_locks where locktype = 'advisory' and not granted`).length > 0;

it('waits for a write that began before the list and commits after it', async () => {
  const [slow, other] = [await make('Slow'), await make('Other')];
  const early = platform.clock.now();
  platform.clock.advance(1_000);
  let listed: ReturnType<typeof names> | undefined;
  await whileWriting(slow, early, async () => {
    await change(other.id, { fields: { n: 1 } });
    listed = names();
    await waitFor('the list', isListWaiting);
  });
  expect(await listed).toEqual(['Slow again', 'Other']);
});

it('orders a write with a slow clock after everything already listed', async () => {
  const [slow, other] = [await make('Slow'), await make('Other')];
  const early = platform.clock.now();
  platform.clock.advance(60_000);
  await change(other.id, { fields: { n: 1 } });
  const last = (await list({})).data.at(-1)!.updated_at;
  await whileWriting(slow, early, async () => undefined);
  expect(await names({ updated_since: last })).toEqual(['Other', 'Slow again']);
});

it('returns a retryable 503 if running writes take longer than a second', async () => {
  const slow = await make('Slow');
  await whileWriting(slow, platform.clock.now(), async () => {
    await expect(list({})).rejects.toMatchObject({ status: 503, retryAfter: expect.any(Number) });
  });
  expect(await names()).toEqual(['Slow again']);
});

it('misses nothing during concurrent creations, changes and batches', async () => {
  const { client } = account;
  let isOver = false;
  const mirrored = new Map<string, unknown>();
  const mirror = async () => {
    let since = start;
    for (let last = false; ; last = isOver) {
      const seen = [];
      for await (const contact of eachOf((page) => list({ limit: 5, updated_since: since, ...page })))
        seen.push(contact);
      for (const contact of seen) mirrored.set(contact.id, contact);
      since = seen.at(-1)?.updated_at ?? since;
      if (last) return;
    }
  };
  const write = async (worker: number) => {
    for (let round = 0; round < 8; round++) {
      const external_id = `${worker}-${round}`;
      const { id } = await client.cdp.contacts.upsertByExternalId({ params: { external_id }, body: { name: 'put' } });
      const changed = change(id, { name: 'changed' });
      const contacts = [
        { external_id: `shared ${round}`, fields: { worker } },
        { external_id, fields: { round } },
      ];
      await Promise.all<unknown>([changed, client.cdp.contacts.batch({ body: { contacts } })]);
    }
  };
  const mirroring = mirror();
  await Promise.all([0, 1, 2, 3].map(write));
  isOver = true;
  await mirroring;
  const all = [];
  for await (const contact of eachOf((page) => client.cdp.contacts.list({ query: page }))) all.push(contact);
  expect(all).toHaveLength(40);
  expect(all.map((contact) => mirrored.get(contact.id))).toEqual(all);
});

it('omits merged contacts, and includes one whose merge was undone', async () => {
  const kept = await make('Kept', { email: 'one@example.com' });
  const merged = await make('Merged', { email: 'one@example.com' });
  const { params, survivor } = await mergePair({ platform, sql, account }, kept.id, merged.id);
  expect(await names()).toEqual(['Kept']);
  const since = (await list({})).data.at(-1)!.updated_at;
  expect(since).toBe(survivor.updated_at);
  await account.client.cdp.duplicates.undo({ params, body: {} });
  expect((await names({ updated_since: since })).toSorted()).toEqual(['Kept', 'Merged']);
});

it('can be combined with the other filters', async () => {
  await make('Ada', { tags: ['vip'], phone: '030 901820', email: 'ada@example.com', external_id: 'a' });
  await make('Bo', { tags: ['vip'] });
  const c = await make('Ada again', { phone: '030 901820', email: 'ada@example.com', external_id: 'a' });
  const both = ['Ada', 'Ada again'];
  const { client } = account;
  for (const [filter, found] of [
    [{ q: 'ada' }, both],
    [{ q: '901820' }, both],
    [{ tag: 'vip' }, ['Ada', 'Bo']],
    [{ phone: '030901820' }, both],
    [{ email: 'ADA@example.com' }, both],
    [{ external_id: 'a' }, both],
    [{ q: 'ada', tag: 'vip' }, ['Ada']],
  ] as const) {
    const { data } = await client.cdp.contacts.list({ query: { ...filter, updated_since: start } });
    expect([filter, data.map(({ name }) => name)]).toEqual([filter, found]);
    const later = new Date(Date.parse(c.updated_at) + 1).toISOString();
    expect((await client.cdp.contacts.list({ query: { ...filter, updated_since: later } })).data).toEqual([]);
    const paged = [];
    const pages = (page: object) =>
      client.cdp.contacts.list({ query: { ...filter, updated_since: start, limit: 1, ...page } });
    for await (const { name } of eachOf(pages)) paged.push(name);
    expect(paged).toEqual(found);
  }
});

it('reads any page of very many contacts by the index', async () => {
  await sql`
    insert into contacts (account_id, number, name, tags, fields, created_at, updated_at)
    select ${account.id}, n, '', '{}', '{}', now(), now() + n * interval '1 second' from generate_series(1, 4000) as n`;
  await sql.unsafe('analyze contacts');
  const since = new Date(Date.now() + 2_000_000);
  await inTransaction(sql, async (tx) => {
    const before = await rowsRead(tx, 'contacts');
    const page = { since, until: 'infinity', after: undefined, limit: 10 };
    const found = await selectContacts(tx, account.id, {}, page);
    const after = { at: found.at(-1)!.updated_at.toISOString(), id: found.at(-1)!.id };
    expect(await selectContacts(tx, account.id, {}, { ...page, after })).toHaveLength(10);
    expect((await rowsRead(tx, 'contacts')) - before).toBeLessThan(100);
  });
});
