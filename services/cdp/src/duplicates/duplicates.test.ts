import { eachOf } from '@customer-platform/client';
import { startPlatform, type TestAccount, waitFor } from '@customer-platform/testkit';
import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';
import { during, lookForDuplicates, refusal } from '../../test/cdp.ts';
import { lockPairs } from '../contacts/identities.sql.ts';

const platform = await startPlatform({ services: ['cdp'] });
const sql = platform.database('cdp');
afterAll(() => platform.stop());

let account: TestAccount;
beforeEach(async () => {
  platform.clock.set('2026-11-20T08:00:00Z');
  account = await platform.account();
});

type Values = { name?: string; email?: string; phone?: string; external_id?: string };
const add = async (values: Values) => (await account.client.cdp.contacts.create({ body: values })).id;
const look = () => lookForDuplicates(platform, sql, account);
const pairs = async () => (await account.client.cdp.duplicates.list({ query: { limit: 100 } })).data;

/** Inserts many contacts directly into the database. `columns` is SQL that may use the sequence number `n`. */
const addMany = (count: number, columns: string) => sql`
  insert into contacts (account_id, number, name, email, phone, external_id, tags, fields, created_at, updated_at)
  select ${account.id}, 1000 + n, name, email, phone, external_id, '{}', '{}', now(), now()
  from generate_series(1, ${count}) as n cross join lateral (${sql.unsafe(columns)}) as made (name, email, phone, external_id)`;

describe('a pair', () => {
  it.each<[string, number, string, [Values, Values]]>([
    ['external_id', 95, 'X-1', [{ external_id: 'X-1' }, { external_id: 'X-1' }]],
    ['email', 90, 'ada@example.com', [{ email: 'ada@example.com' }, { email: ' ADA@example.com ' }]],
    ['email', 90, 'ada@exämple.de', [{ email: 'Ada@EXÄMPLE.de' }, { email: 'ada@XN--exmple-cua.de' }]],
    ['phone', 70, '+4930901820', [{ phone: '030 901820' }, { phone: '+49 30 901820' }]],
    [
      'name',
      60,
      'ada strasse, example.com',
      [
        { name: ' Ada  STRASSE', email: 'a@example.com' },
        { name: 'Ada\u00a0Straße ', email: 'b@EXAMPLE.com' },
      ],
    ],
  ])('shares %s, score %d', async (reason, score, detail, [one, other]) => {
    const [older, newer] = [await add(one), await add(other)];
    await look();
    const [pair, ...others] = await pairs();
    expect(pair).toMatchObject({ reason, score, detail });
    expect(pair!.contacts.map(({ id }) => id)).toEqual([older, newer]);
    expect(others).toEqual([]);
  });

  it('does not arise from values that different people commonly share', async () => {
    await add({ name: 'Ada', email: 'a@one.example' });
    await add({ name: 'Ada', email: 'b@two.example' });
    await add({ name: 'Ada' });
    await add({ name: '', email: 'c@one.example' });
    await add({ name: ' ', email: 'd@one.example' });
    await add({ external_id: 'x-1' });
    await add({ external_id: 'X-1' });
    await look();
    expect(await pairs()).toEqual([]);
  });

  it('has its strongest reason and shows the current values of both contacts', async () => {
    const older = await add({ name: 'Ada', email: 'ada@example.com', phone: '+4930901820', external_id: 'x' });
    const newer = await add({ name: 'Ada', email: 'ada@example.com', phone: '+4930901820' });
    await look();
    await account.client.cdp.contacts.update({ params: { contact_id: newer }, body: { name: 'Ada L.', phone: '' } });
    expect(await pairs()).toMatchObject([
      {
        reason: 'email',
        contacts: [
          { id: older, phone: '+4930901820' },
          { id: newer, name: 'Ada L.', phone: '' },
        ],
      },
    ]);
  });

  it('changes its reason but not its id, or disappears, as its contacts change', async () => {
    await add({ email: 'ada@example.com', phone: '+4930901820' });
    const newer = await add({ email: 'ada@example.com', phone: '+4930901820' });
    await look();
    const [first] = await pairs();
    await account.client.cdp.contacts.update({ params: { contact_id: newer }, body: { email: '' } });
    await look();
    expect(await pairs()).toEqual([{ ...first, reason: 'phone', detail: '+4930901820', score: 70 }]);
    await account.client.cdp.contacts.update({ params: { contact_id: newer }, body: { phone: '' } });
    await look();
    expect(await pairs()).toEqual([]);
  });

  it('disappears with a deleted contact', async () => {
    const [older] = [await add({ external_id: 'x' }), await add({ external_id: 'x' })];
    await look();
    await account.client.cdp.contacts.delete({ params: { contact_id: older } });
    expect(await pairs()).toEqual([]);
    await look();
    expect(await pairs()).toEqual([]);
  });
});

describe('a dismissed pair', () => {
  it('returns only for a stronger reason', async () => {
    const older = await add({ phone: '+4930901820', name: 'Ada', email: 'a@example.com' });
    const newer = await add({ phone: '+4930901820', name: 'Ada', email: 'b@example.com' });
    await look();
    const [pair] = await pairs();
    const params = { duplicate_id: pair!.id };
    expect(await account.client.cdp.duplicates.dismiss({ params, body: {} })).toEqual(pair);
    await look();
    expect(await pairs()).toEqual([]);
    await account.client.cdp.contacts.update({ params: { contact_id: newer }, body: { phone: '' } }); // only the weaker reason remains
    await look();
    expect(await pairs()).toEqual([]);
    await account.client.cdp.contacts.update({ params: { contact_id: newer }, body: { email: 'a@example.com' } });
    await look();
    expect(await pairs()).toMatchObject([{ id: pair!.id, reason: 'email', score: 90 }]);
    expect((await pairs())[0]!.contacts.map(({ id }) => id)).toEqual([older, newer]);
  });

  it('cannot be decided again', async () => {
    const keep = await add({ external_id: 'x' });
    await add({ external_id: 'x' });
    await look();
    const params = { duplicate_id: (await pairs())[0]!.id };
    await account.client.cdp.duplicates.dismiss({ params, body: {} });
    await expect(account.client.cdp.duplicates.dismiss({ params, body: {} })).rejects.toMatchObject(refusal(409));
    await expect(account.client.cdp.duplicates.merge({ params, body: { keep } })).rejects.toMatchObject(refusal(409));
  });
});

describe('many contacts', () => {
  it('that share a value are all paired up to 50; beyond that, each is paired with the oldest', async () => {
    await addMany(50, `values ('', null, null, 'fifty')`);
    await addMany(51, `values ('', null, null, 'fifty-one')`).catch(() => undefined);
    await sql`update contacts set number = number + 5000 where account_id = ${account.id}`;
    await addMany(51, `values ('', null, null, 'fifty-one')`);
    await look();
    const counts = await sql`
      select detail, count(*)::int as pairs, count(distinct older_id)::int as older from duplicates
      where account_id = ${account.id} group by detail order by detail`;
    expect(counts).toMatchObject([
      { detail: 'fifty', pairs: (50 * 49) / 2, older: 49 },
      { detail: 'fifty-one', pairs: 50, older: 1 },
    ]);
  });

  it('yield the same pairs as a comparison of every two of them', async () => {
    await addMany(
      250,
      `select 'Name ' || n % 7, 'm' || n % 90 || '@d' || n % 5 || '.example', nullif('+4930' || n % 80, '+4930' || n % 3),
         case when n % 4 = 0 then 'x' || n % 60 end`,
    );
    await look();
    const contacts = await sql<{ id: string; name: string; email: string; phone: string; external_id: string }[]>`
      select id, name, email, phone, external_id from contacts where account_id = ${account.id} order by id`;
    const expected = contacts.flatMap((older, index) =>
      contacts.slice(index + 1).flatMap((newer) => {
        const domains = [older, newer].map(({ email }) => email.split('@')[1]);
        const reason =
          (older.external_id !== null && older.external_id === newer.external_id && 'external_id') ||
          (older.email === newer.email && 'email') ||
          (older.phone !== null && older.phone === newer.phone && 'phone') ||
          (older.name === newer.name && domains[0] === domains[1] && 'name');
        return reason ? [`${older.id} ${newer.id} ${reason}`] : [];
      }),
    );
    const found = await sql`select older_id, newer_id, reason from duplicates where account_id = ${account.id}`;
    expect(new Set(expected.map((line) => line.split(' ')[2])).size).toBe(4);
    expect(found.map((row) => `${row.older_id} ${row.newer_id} ${row.reason}`).sort()).toEqual(expected.sort());
  });

  it('are listed newest first, filtered by reason; foreign cursors are rejected', async () => {
    await addMany(8, `values ('', null, '+49' || n / 2, 'x' || (n + 1) / 2)`);
    await look();
    const all = await pairs();
    expect(all.map(({ reason }) => reason).sort()).toEqual([
      ...Array(4).fill('external_id'),
      ...Array(3).fill('phone'),
    ]);
    expect(all.map(({ id }) => id)).toEqual(all.map(({ id }) => id).sort((one, other) => other - one));
    const seen: number[] = [];
    const query = { reason: 'phone', limit: 2 } as const;
    for await (const { id } of eachOf((page) => account.client.cdp.duplicates.list({ query: { ...query, ...page } }))) {
      seen.push(id);
    }
    expect(seen).toEqual(all.filter(({ reason }) => reason === 'phone').map(({ id }) => id));
    for (const cursor of ['0', 'x', '', String(all[0]!.id + 1_000_000)]) {
      const query = { starting_after: cursor };
      await expect(account.client.cdp.duplicates.list({ query })).rejects.toMatchObject(refusal(400, 'starting_after'));
    }
    const response = await account.request('GET', '/v1/cdp/duplicates?reason=twins');
    expect([response.status, response.body.error.field]).toEqual([400, 'reason']);
  });
});

it("runs start every night at 02:00 in the account's zone", async () => {
  account = await platform.account({ timezone: 'America/New_York' });
  await add({ external_id: 'x' });
  await add({ external_id: 'x' });
  const due = async () =>
    (await sql`select due_at from duplicate_runs where account_id = ${account.id}`)[0]!.due_at.toISOString();
  expect(await due()).toBe('2026-11-21T07:00:00.000Z');
  platform.clock.set('2026-11-21T06:59:00Z');
  const other = await platform.account();
  await other.client.cdp.contacts.create({ body: { name: 'Ada' } });
  await lookForDuplicates(platform, sql, other); // the job has run since
  expect(await pairs()).toEqual([]);
  platform.clock.set('2026-11-21T07:00:00Z');
  await waitFor('the night', async () => (await pairs()).length === 1);
  await waitFor('the next night', async () => (await due()) === '2026-11-22T07:00:00.000Z');
});

describe('a requested run', () => {
  it('follows one in progress', async () => {
    await add({ external_id: 'x' });
    await add({ external_id: 'x' });
    await during(
      sql,
      (tx) => lockPairs(tx, account.id),
      async () => {
        await account.client.cdp.duplicates.find({ body: {} });
        await waitFor('the run to wait', async () => {
          const waiting = await sql`
            select 1 from pg_locks join pg_database d on d.oid = database
            where locktype = 'advisory' and not granted and d.datname = current_database()`;
          return waiting.length > 0;
        });
        await add({ external_id: 'y' });
        await add({ external_id: 'y' });
        await account.client.cdp.duplicates.find({ body: {} });
      },
    );
    await waitFor('both pairs', async () => (await pairs()).length === 2);
  });

  it('does not delay other accounts if it fails', async () => {
    await sql`alter table duplicates add constraint fails check (detail <> 'fails')`;
    try {
      await add({ external_id: 'fails' });
      await add({ external_id: 'fails' });
      await account.client.cdp.duplicates.find({ body: {} });
      const other = await platform.account();
      for (const _ of [1, 2]) await other.client.cdp.contacts.create({ body: { external_id: 'x' } });
      await lookForDuplicates(platform, sql, other);
      expect((await other.client.cdp.duplicates.list({})).data).toHaveLength(1);
      expect(await pairs()).toEqual([]);
    } finally {
      await sql`alter table duplicates drop constraint fails`;
    }
    platform.clock.advance(3_600_000);
    await waitFor('the pair', async () => (await pairs()).length === 1);
  });
});
