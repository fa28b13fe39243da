import type { WriteContactsBody } from '@customer-platform/client';
import type { AccountContext } from '@customer-platform/contracts/core';
import { inTransaction } from '@customer-platform/service-kit';
import { rowsRead, startPlatform, type TestAccount, waitFor } from '@customer-platform/testkit';
import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';
import { addAudience, during, keepChanged, mergeInto, refusal, settle, takeChanged } from '../../test/cdp.ts';
import { readEntries } from './contact-batch.ts';
import { lockLookups } from './identities.sql.ts';
import { selectMatches } from './matches.sql.ts';
import { decide } from './write-contacts.ts';

const platform = await startPlatform({ services: ['cdp'] });
const sql = platform.database('cdp');
await keepChanged(sql);
afterAll(() => platform.stop());

let account: TestAccount;
beforeEach(async () => {
  account = await platform.account();
});

const write = (contacts: WriteContactsBody['contacts']) => account.client.cdp.contacts.batch({ body: { contacts } });
const get = (id: string | null | undefined) => account.client.cdp.contacts.get({ params: { contact_id: id! } });
const all = async () => (await account.client.cdp.contacts.list({ query: { limit: 100 } })).data;
const changes = async (count: number) =>
  await waitFor(`${count} events`, async () => {
    const events = platform.events(account.id).filter(({ type }) => /^contact\.(created|updated)$/.test(type));
    return events.length >= count && events;
  });

describe('many contacts at once', () => {
  it('are created, changed as by PATCH or left unchanged, each with its event, in order', async () => {
    const { client } = account;
    const known = await client.cdp.contacts.create({
      body: { external_id: 'k', name: 'Kim', email: 'kim@example.com', tags: ['a', 'b'], fields: { one: 1, two: 2 } },
    });
    const same = await client.cdp.contacts.create({ body: { external_id: 's', name: 'Sam' } });
    const written = await write([
      {
        external_id: 'n',
        name: 'New',
        phone: '030 901820',
        email: ' NEW@Example.com ',
        tags: ['x', 'x'],
        fields: { a: 1 },
      },
      { external_id: 'k', email: null, tags: ['c'], fields: { one: null, three: true } },
      { external_id: 's', name: 'Sam' },
      { name: 'Last' },
    ]);
    expect(written).toMatchObject({ created: 2, updated: 1, unchanged: 1, failed: 0 });
    expect(written.data.map(({ index, outcome, error }) => [index, outcome, error])).toEqual([
      [0, 'created', null],
      [1, 'updated', null],
      [2, 'unchanged', null],
      [3, 'created', null],
    ]);
    expect([written.data[1]!.id, written.data[2]!.id]).toEqual([known.id, same.id]);
    const made = await get(written.data[0]!.id);
    expect(made).toMatchObject({
      ...{
        external_id: 'n',
        name: 'New',
        phone: '+4930901820',
        email: 'new@example.com',
        tags: ['x'],
        fields: { a: 1 },
      },
      number: same.number + 1,
    });
    const changed = await get(known.id);
    expect(changed).toMatchObject({ name: 'Kim', email: null, tags: ['c'], fields: { two: 2, three: true } });
    expect(await get(same.id)).toEqual(same);
    const [, , ...sent] = await changes(5);
    expect(sent.map(({ type, data }) => [type, data])).toEqual([
      ['contact.created', { contact: made }],
      [
        'contact.updated',
        {
          contact: changed,
          previous: { email: 'kim@example.com', tags: ['a', 'b'], fields: { one: 1, two: 2 } },
        },
      ],
      ['contact.created', { contact: await get(written.data[3]!.id) }],
    ]);
    expect((await all()).map(({ name }) => name)).toEqual(['Last', 'New', 'Sam', 'Kim']);
  });

  it('each match the oldest with the external id, else the email, else the phone', async () => {
    const { client } = account;
    const made = await client.cdp.contacts.create({
      body: { external_id: 'a', name: 'A', email: 'a@example.com', phone: '030 901821' },
    });
    const twin = { external_id: 'a', email: 'a@example.com', phone: '030 901821' };
    for (const name of ['B', 'C']) await client.cdp.contacts.create({ body: { ...twin, name } });
    const other = await client.cdp.contacts.create({ body: { external_id: 'o', name: 'O', email: 'o@example.com' } });
    const ids = async (entry: WriteContactsBody['contacts'][number]) => (await write([entry])).data[0]!.id;
    expect(await ids({ external_id: 'a', email: 'o@example.com', fields: { by: 'external_id' } })).toBe(made.id);
    expect(await ids({ external_id: 'new', email: 'A@Example.com', fields: { by: 'email' } })).not.toBe(made.id);
    expect((await get(other.id)).fields).toEqual({});
    expect(await ids({ external_id: 'none', email: 'none@example.com', phone: '+49 30 901821' })).toBe(made.id);
    expect(await get(made.id)).toMatchObject({
      external_id: 'none',
      email: 'none@example.com',
      fields: { by: 'external_id' },
    });
  });

  it('match the survivor of a merged contact', async () => {
    const { client } = account;
    const kept = await client.cdp.contacts.create({ body: { name: 'Kept', email: 'one@example.com' } });
    const body = { external_id: 'gone', name: 'Gone', email: 'one@example.com', phone: '030 901822' };
    const merged = await client.cdp.contacts.create({ body });
    await mergeInto({ platform, sql, account }, kept.id, merged.id);
    await client.cdp.contacts.update({ params: { contact_id: kept.id }, body: { external_id: 'own', phone: null } });
    const written = await write([
      { external_id: 'gone', name: 'One' },
      { phone: '030 901822', name: 'Two' },
    ]);
    expect(written.data.map(({ id }) => id)).toEqual([kept.id, kept.id]);
    expect(await get(kept.id)).toMatchObject({ external_id: 'gone', name: 'Two', phone: '+4930901822' });
  });

  it('match a number with and without its national digit', async () => {
    const made = await account.client.cdp.contacts.create({ body: { phone: '+525512345699' } });
    const { data } = await write([{ phone: '+5215512345699', name: 'Mexico' }]);
    expect(data).toMatchObject([{ id: made.id, outcome: 'updated' }]);
  });

  it('apply in order to the same contact, even one that the batch creates', async () => {
    const made = await account.client.cdp.contacts.create({ body: { external_id: 'x', name: 'X', fields: { n: 0 } } });
    const { data, ...counts } = await write([
      { external_id: 'x', fields: { n: 1 } },
      { external_id: 'new', name: 'New', email: 'new@example.com' },
      { external_id: 'x', fields: { n: 2 }, email: 'x@example.com' },
      { email: 'new@example.com', phone: '030 901823', fields: { n: 1 } },
      { phone: '030 901823', name: 'Newer', external_id: 'newer' },
      { email: 'x@example.com', name: 'X' },
      { external_id: 'new', name: 'Another' },
    ]);
    expect(counts).toEqual({ created: 2, updated: 4, unchanged: 1, failed: 0 });
    expect(data[0]!.id).toBe(made.id);
    expect([data[2]!.id, data[5]!.id]).toEqual([made.id, made.id]);
    expect([data[3]!.id, data[4]!.id]).toEqual([data[1]!.id, data[1]!.id]);
    const sent = (await changes(7)).map(({ data: { contact, previous } }) => [contact.name, contact.fields, previous]);
    expect(sent).toEqual([
      ['X', { n: 0 }, undefined],
      ['X', { n: 1 }, { fields: { n: 0 } }],
      ['New', {}, undefined],
      ['X', { n: 2 }, { fields: { n: 1 }, email: null }],
      ['New', { n: 1 }, { phone: null, fields: {} }],
      ['Newer', { n: 1 }, { name: 'New', external_id: 'new' }],
      ['Another', {}, undefined],
    ]);
    expect(await get(data[1]!.id)).toMatchObject({ name: 'Newer', external_id: 'newer', phone: '+4930901823' });
  });

  it('match the next oldest with a value that an earlier entry removed from the oldest', async () => {
    const { client } = account;
    const make = (external_id: string) =>
      client.cdp.contacts.create({ body: { external_id, email: 'all@example.com' } });
    const [one, two, three] = [await make('1'), await make('2'), await make('3')];
    const { data } = await write([
      { external_id: '1', email: 'one@example.com' },
      { email: 'all@example.com', name: 'Second' },
      { external_id: '2', email: null },
      { email: 'all@example.com', name: 'Third' },
      { external_id: '3', email: null },
      { email: 'all@example.com', name: 'New' },
      { external_id: '1', email: 'all@example.com' },
      { email: 'all@example.com', name: 'First' },
    ]);
    expect(data.map(({ id }) => id)).toEqual([
      ...[one.id, two.id, two.id, three.id, three.id],
      ...[data[5]!.id, one.id, one.id],
    ]);
    expect((await all()).map(({ name }) => name)).toEqual(['New', 'Third', 'Second', 'First']);
  });

  it('are matched in few passes, however long a chain of entries that remove values', async () => {
    const numbers = Array.from({ length: 480 }, (_, index) => index + 1);
    const contacts = await sql<{ id: string }[]>`
      insert into contacts (account_id, number, external_id, name, email, phone, tags, fields, created_at, updated_at)
      select ${account.id}, n, 'c' || n, '', n / 2 || '@example.com', '+493090' || 1000 + (n + 1) / 2, '{}', '{}', now(), now()
      from unnest(${numbers}::integer[]) as n returning id`;
    const entries = numbers.map((n) => ({
      ...(n === 1 ? { external_id: 'c1' } : {}),
      email: n % 2 ? `${(n - 1) / 2}@example.com` : `new${n}@example.com`,
      phone: n % 2 ? `+493091${1000 + n}` : `+493090${1000 + n / 2}`,
    }));
    await inTransaction(sql, async (tx) => {
      const context = { id: account.id, country: 'DE' } as AccountContext;
      const read = readEntries(
        entries.map((value) => ({ value })),
        context,
      );
      await decide(tx, context, read);
      expect(await rowsRead(tx, 'contacts')).toBeLessThan(480 * 20);
    });
    const { data, updated } = await write(entries);
    expect(updated).toBe(480);
    expect(data.map(({ id }) => id)).toEqual(contacts.map(({ id }) => id));
  });

  it('are rejected together if they match more than 5,000 contacts', async () => {
    await sql`
      insert into contacts (account_id, number, external_id, name, email, phone, tags, fields, created_at, updated_at)
      select ${account.id}, row_number() over (), 'c' || row_number() over (order by part, i, n), '', case part when 1 then i || '@example.com' end,
        case part when 2 then '+493090' || 1000 + i end, '{}', '{}', now(), now()
      from generate_series(1, 2) as part, generate_series(1, 330) as i, generate_series(1, 8) as n order by part, i, n`;
    const taking = { external_id: 'c1', email: 'own@example.com' };
    const others = Array.from({ length: 330 }, (_, index) => ({
      email: `${index + 1}@example.com`,
      phone: `+493090${1001 + index}`,
    }));
    await expect(write([taking, ...others])).rejects.toMatchObject(refusal(400, 'contacts'));
    expect(await write([taking, ...others.slice(0, 165)])).toMatchObject({ updated: 166 });
    expect(await write(others.slice(165))).toMatchObject({ updated: 165 });
  });

  it('fail individually, with the path in the message and the field of the entry', async () => {
    const large = Object.fromEntries(Array.from({ length: 70 }, (_, index) => [`f${index}`, 'x'.repeat(1_000)]));
    const { request } = account;
    const contacts = [
      { name: 'Good' },
      { name: 'Phone', phone: '12' },
      { name: 'Email', email: 'Ada <ada@example.com>' },
      { name: 'Fields', fields: large },
      { tags: ['nobody'], fields: { a: 1 } },
      { name: 'Number', fields: { n: 2 ** 53 } },
      { name: 'Tags', tags: [1] },
      'nothing',
      { email: 'good@example.com' },
    ];
    const { status, body } = await request('POST', '/v1/cdp/contacts/batch', { body: { contacts } });
    expect(status).toBe(200);
    expect(body).toMatchObject({ created: 2, updated: 0, unchanged: 0, failed: 7 });
    const failed = (
      body.data as { index: number; id: null; error: { code: string; message: string; field?: string } | null }[]
    ).filter(({ error }) => error);
    expect(failed.map(({ index, id, error }) => [index, id, error!.code, error!.field])).toEqual([
      [1, null, 'invalid_request', 'phone'],
      [2, null, 'invalid_request', 'email'],
      [3, null, 'invalid_request', 'fields'],
      [4, null, 'invalid_request', 'name'],
      [5, null, 'invalid_request', 'fields'],
      [6, null, 'invalid_request', 'tags'],
      [7, null, 'invalid_request', undefined],
    ]);
    expect(failed.map(({ error }) => error!.message.split(' ', 1)[0])).toEqual([
      ...['contacts[1].phone', 'contacts[2].email', 'contacts[3].fields', 'contacts[4].name'],
      ...['contacts[5].fields.n', 'contacts[6].tags[0]', 'contacts[7]'],
    ]);
    expect((await all()).map(({ name, email }) => name || email)).toEqual(['good@example.com', 'Good']);
  });

  it('fail if an entry exceeds the limit of fields, and keep the changes of earlier entries', async () => {
    const fields = (mark: string) =>
      Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`${mark}${index}`, 'x'.repeat(1_000)]));
    const { data } = await write([
      { external_id: 'f', fields: fields('a') },
      { external_id: 'f', name: 'Refused', fields: fields('b') },
      { external_id: 'f', fields: { a0: 'small' } },
    ]);
    expect(data.map(({ outcome }) => outcome)).toEqual(['created', 'failed', 'updated']);
    expect(await get(data[0]!.id)).toMatchObject({ name: '', fields: { ...fields('a'), a0: 'small' } });
  });

  it('number 1 to 500', async () => {
    const entries = (count: number) => Array.from({ length: count }, (_, index) => ({ external_id: `e${index}` }));
    await expect(write(entries(501))).rejects.toMatchObject(refusal(400, 'contacts'));
    await expect(write([])).rejects.toMatchObject(refusal(400, 'contacts'));
    expect(await write(entries(500))).toMatchObject({ created: 500, failed: 0 });
    expect(await write(entries(500))).toMatchObject({ created: 0, unchanged: 500 });
  });

  it('are rejected together if their tags and fields exceed 8 MiB', async () => {
    const fields = Object.fromEntries(Array.from({ length: 60 }, (_, index) => [`f${index}`, 'x'.repeat(1_000)]));
    const { id } = await account.client.cdp.contacts.create({ body: { external_id: 'large', fields } });
    await sql`
      insert into contacts (account_id, number, external_id, name, tags, fields, created_at, updated_at)
      select account_id, number + n, 'large' || n, name, tags, fields, created_at, updated_at
      from contacts cross join generate_series(1, 299) as n where account_id = ${account.id} and id = ${id}`;
    const entries = Array.from({ length: 299 }, (_, index) => ({ external_id: `large${index + 1}`, name: 'L' }));
    await expect(write(entries)).rejects.toMatchObject(refusal(400, 'contacts'));
    expect(await write(entries.slice(0, 100))).toMatchObject({ updated: 100 });
    const same = Array.from({ length: 299 }, (_, index) => ({ external_id: 'large', name: `L${index}` }));
    await expect(write(same)).rejects.toMatchObject(refusal(400, 'contacts'));
  });

  it('are queued for audiences only if they changed', async () => {
    await addAudience(sql, account.id);
    const same = await account.client.cdp.contacts.create({ body: { external_id: 'same' } });
    const old = await account.client.cdp.contacts.create({ body: { external_id: 'old' } });
    await settle(sql, account.id, 2);
    await takeChanged(sql, account.id);
    const { data } = await write([{ external_id: 'new' }, { external_id: 'same' }, { external_id: 'old', name: 'O' }]);
    await settle(sql, account.id, 3);
    const changed = await takeChanged(sql, account.id);
    expect(changed.toSorted()).toEqual([data[0]!.id, old.id].toSorted());
    expect(data[1]!.id).toBe(same.id);
  });
});

it('the first contacts of an account schedule its nightly runs, and are numbered from 1 in order', async () => {
  await write([{ name: 'A' }, { name: 'B' }, { name: 'C' }]);
  expect((await all()).map(({ name, number }) => [name, number])).toEqual([
    ['C', 3],
    ['B', 2],
    ['A', 1],
  ]);
  expect(await sql`select from duplicate_runs where account_id = ${account.id}`).toHaveLength(1);
});

describe('concurrent batches', () => {
  const entries = (from: number) =>
    Array.from({ length: 60 }, (_, index) => ({
      ...(index % 3 === 0 ? { external_id: `r${index}` } : {}),
      ...(index % 3 === 1 ? { email: `r${index}@example.com` } : {}),
      ...(index % 3 === 2 ? { phone: `+493090${1_000 + index}` } : {}),
      name: `${from}`,
    }));

  it('with the same contacts in any order, and PUTs of them, create each contact once', async () => {
    const batches = [0, 1, 2, 3].map((from) => write(from % 2 ? entries(from) : entries(from).toReversed()));
    const puts = [0, 3, 6, 9].map((index) =>
      account.client.cdp.contacts.upsertByExternalId({ params: { external_id: `r${index}` }, body: { name: 'put' } }),
    );
    const [written] = await Promise.all([Promise.all(batches), Promise.all(puts)]);
    expect(written.map(({ failed }) => failed)).toEqual([0, 0, 0, 0]);
    expect(await all()).toHaveLength(60);
  });

  it('do not deadlock with merges, deletions and changes of their contacts', async () => {
    const { client } = account;
    const { data } = await write(entries(0));
    const deleted = data.slice(0, 6).map(({ id }) => client.cdp.contacts.delete({ params: { contact_id: id! } }));
    const patched = data
      .slice(6, 30)
      .map(({ id }, index) => client.cdp.contacts.update({ params: { contact_id: id! }, body: { fields: { index } } }));
    const written = await Promise.all([write(entries(1)), write(entries(2).toReversed())]);
    await Promise.all<unknown>([...deleted, ...patched]);
    expect(written.map(({ failed }) => failed)).toEqual([0, 0]);
  });

  it('wait for look-ups of the same account only', async () => {
    const other = await platform.account();
    let waiting: Promise<unknown> = Promise.resolve();
    await during(
      sql,
      (tx) => lockLookups(tx, account.id),
      async () => {
        waiting = write([{ external_id: 'w' }]);
        await waitFor('the batch', async () => {
          const locks = await sql`select from pg_locks where locktype = 'advisory' and not granted`;
          return locks.length > 0;
        });
        expect(await other.client.cdp.contacts.batch({ body: { contacts: [{ external_id: 'w' }] } })).toMatchObject({
          created: 1,
        });
      },
    );
    expect(await waiting).toMatchObject({ created: 1 });
  });
});

it('a batch that is repeated with its Idempotency-Key writes once', async () => {
  const contacts = [{ name: 'Once' }, { name: 'Twice', phone: '12' }];
  const send = () =>
    account.request('POST', '/v1/cdp/contacts/batch', { body: { contacts }, headers: { 'idempotency-key': 'batch' } });
  const [first, again] = [await send(), await send()];
  expect(first.body).toMatchObject({ created: 1, failed: 1 });
  expect([again.text, again.headers.get('idempotent-replayed')]).toEqual([first.text, 'true']);
  expect(await all()).toHaveLength(1);
});

it('look-ups use an index even before PostgreSQL has statistics of the contacts', async () => {
  await sql`
    insert into contacts (account_id, number, external_id, name, phone, email, tags, fields, created_at, updated_at)
    select ${account.id}, 10 + n, 'e' || n, '', '+49' || n, n || '@example.com', '{}', '{}', now(), now() from generate_series(1, 20000) as n`;
  const lookups = Array.from({ length: 300 }, (_, index) => ({
    column: (['external_id', 'email', 'phone'] as const)[index % 3]!,
    value: ['e', '', '+49'][index % 3]! + (index + 1) + ['', '@example.com', ''][index % 3]!,
  }));
  await inTransaction(sql, async (tx) => {
    await lockLookups(tx, account.id);
    for (const most of [1, 512])
      for (let round = 0; round < 7; round++) {
        const before = await rowsRead(tx, 'contacts');
        const matches = await selectMatches(tx, account.id, lookups, most);
        expect(matches.filter(({ ids }) => ids.length === 1)).toHaveLength(300);
        expect((await rowsRead(tx, 'contacts')) - before).toBeLessThan(1_000);
      }
  });
});
