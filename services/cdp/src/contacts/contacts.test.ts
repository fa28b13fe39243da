import { eachOf } from '@customer-platform/client';
import { inTransaction } from '@customer-platform/service-kit';
import { pagesOf, rowsRead, startPlatform, type TestAccount, waitFor } from '@customer-platform/testkit';
import { afterAll, describe, expect, it } from '@jest/globals';
import { refusal } from '../../test/cdp.ts';
import { selectContacts } from './contacts.sql.ts';

const platform = await startPlatform({ services: ['cdp'] });
const account = await platform.account();
afterAll(() => platform.stop());

describe('a contact', () => {
  it('is created with its phone in E.164, its email in lower case and unique tags, and emits an event', async () => {
    const made = await account.client.cdp.contacts.create({
      body: {
        name: 'Ada',
        phone: '030 901820',
        email: ' ADA@Example.com ',
        tags: ['vip', 'vip', 'new'],
        fields: { age: 36, member: true },
      },
    });
    expect(made).toMatchObject({
      phone: '+4930901820',
      email: 'ada@example.com',
      tags: ['vip', 'new'],
      fields: { age: 36, member: true },
    });
    expect(await account.client.cdp.contacts.get({ params: { contact_id: made.id } })).toEqual(made);
    const event = await platform.event(account.id, 'contact.created', (data) => data.contact.id === made.id);
    expect(event).toMatchObject({ mode: 'live', account: account.id, data: { contact: made } });
  });

  it("takes the account's country for a number without a country code", async () => {
    const french = await platform.account({ timezone: 'Europe/Paris', country: 'FR' });
    expect((await french.client.cdp.contacts.create({ body: { phone: '01 70 18 99 00' } })).phone).toBe('+33170189900');
  });

  it.each([
    '＋44 20 7946 0958',
    '(+44) 20 7946 0958',
    'tel:+44-20-7946-0958',
    '+44\u{a0}20\u{a0}7946\u{a0}0958',
    '\u{202a}+442079460958\u{202c}',
  ])('stores the number with the country code in %s, and is found by that spelling', async (phone) => {
    const made = await account.client.cdp.contacts.create({ body: { phone } });
    expect(made.phone).toBe('+442079460958');
    const params = { contact_id: (await account.client.cdp.contacts.create({ body: { name: 'Ada' } })).id };
    expect((await account.client.cdp.contacts.update({ params, body: { phone } })).phone).toBe('+442079460958');
    const { data } = await account.client.cdp.contacts.list({ query: { phone } });
    expect(data.map(({ id }) => id)).toEqual(expect.arrayContaining([made.id, params.contact_id]));
  });

  it('is found by a phone with an unescaped plus in the URL, and by a national one after a space', async () => {
    const { id } = await account.client.cdp.contacts.create({ body: { phone: '+4915112345678' } });
    for (const phone of ['+4915112345678', '%2B4915112345678', '+49 151 12345678', '%20015112345678']) {
      const { body } = await account.request('GET', `/v1/cdp/contacts?phone=${phone.replaceAll(' ', '%20')}`);
      expect([phone, (body.data as { id: string }[]).map((contact) => contact.id)]).toEqual([phone, [id]]);
    }
  });

  it.each([
    '12',
    'abc',
    '+49',
    '+4930901820 ext. 5',
    'call me +4930901820 now',
    'abc030901820',
    '1-800-FLOWERS',
    '+44'.padEnd(51, '0'),
  ])('is rejected with the phone %s', async (phone) => {
    await expect(account.client.cdp.contacts.create({ body: { phone } })).rejects.toMatchObject(refusal(400, 'phone'));
  });

  it.each([
    '<ada@example.com>',
    'Ada <ada@example.com>',
    'mailto:ada@example.com',
    '(ada)@example.com',
    'ada@example.com>',
  ])('is rejected with the email %s', async (email) => {
    const { client } = account;
    const refused = refusal(400, 'email');
    await expect(client.cdp.contacts.create({ body: { email } })).rejects.toMatchObject(refused);
    const params = { contact_id: (await client.cdp.contacts.create({ body: { name: 'Ada' } })).id };
    await expect(client.cdp.contacts.update({ params, body: { email } })).rejects.toMatchObject(refused);
    const put = client.cdp.contacts.upsertByExternalId({ params: { external_id: 'mail' }, body: { email } });
    await expect(put).rejects.toMatchObject(refused);
    const { data } = await client.cdp.contacts.batch({ body: { contacts: [{ email }] } });
    expect(data[0]).toMatchObject({ outcome: 'failed', error: { field: 'email' } });
  });

  it('is rejected without a name, phone, email or external id: a mistyped field creates no empty contact', async () => {
    for (const body of [
      {},
      { nmae: 'Ada' },
      { name: '', phone: ' ', email: '' },
      { name: null, tags: ['a'], fields: { a: 1 } },
    ])
      expect(await account.request('POST', '/v1/cdp/contacts', { body })).toMatchObject({
        status: 400,
        body: { error: { code: 'invalid_request', field: 'name' } },
      });
  });

  it('has no numbers beyond ±(2^53 - 1) in its fields, which JSON parsers could round', async () => {
    const { client } = account;
    const most = Number.MAX_SAFE_INTEGER;
    const made = await client.cdp.contacts.create({ body: { name: 'Ada', fields: { most, least: -most, part: 0.5 } } });
    expect(made.fields).toEqual({ most, least: -most, part: 0.5 });
    for (const n of [most + 1, -most - 1, 1e300]) {
      const body = { name: 'Ada', fields: { n } };
      await expect(client.cdp.contacts.create({ body })).rejects.toMatchObject(refusal(400, 'fields'));
      const update = client.cdp.contacts.update({ params: { contact_id: made.id }, body });
      await expect(update).rejects.toMatchObject(refusal(400, 'fields'));
    }
  });

  it('is rejected with a correction for a phone without a country code and a field that is an object', async () => {
    const messageOf = async (body: object) =>
      (await account.request('POST', '/v1/cdp/contacts', { body })).body.error.message;
    expect(await messageOf({ phone: '12' })).toBe(
      "phone must be a phone number, such as +4930901820; one of the account's country, DE, needs no country code",
    );
    for (const value of [{ b: 1 }, ['b']])
      expect(await messageOf({ fields: { a: value } })).toBe(
        'fields.a must be a string of at most 1000 characters, a number or a boolean',
      );
  });

  it('has at most 100 fields and 100 tags', async () => {
    const fields = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`f${index}`, index]));
    const made = await account.client.cdp.contacts.create({ body: { name: 'Ada', fields: fields(100) } });
    await expect(
      account.client.cdp.contacts.create({ body: { name: 'Ada', fields: fields(101) } }),
    ).rejects.toMatchObject(refusal(400, 'fields'));
    const more = account.client.cdp.contacts.update({
      params: { contact_id: made.id },
      body: { fields: { another: 1 } },
    });
    await expect(more).rejects.toMatchObject(refusal(400, 'fields'));
    const tags = Array.from({ length: 101 }, (_, index) => `t${index}`);
    await expect(account.client.cdp.contacts.create({ body: { name: 'Ada', tags } })).rejects.toMatchObject(
      refusal(400, 'tags'),
    );
  });

  it('PATCH merges fields, removes one by null, and clears a value by an empty string', async () => {
    const made = await account.client.cdp.contacts.create({
      body: { name: 'Bo', email: 'bo@example.com', external_id: 'b-1', fields: { a: 1, b: 2 } },
    });
    const params = { contact_id: made.id };
    const changed = await account.client.cdp.contacts.update({
      params,
      body: { name: 'Bob', email: '', fields: { a: null, c: 'x' } },
    });
    expect(changed).toMatchObject({ name: 'Bob', email: null, external_id: 'b-1', fields: { b: 2, c: 'x' } });
    const event = await platform.event(account.id, 'contact.updated', (data) => data.contact.id === made.id);
    expect(event.data).toEqual({
      contact: changed,
      previous: { name: 'Bo', email: 'bo@example.com', fields: { a: 1, b: 2 } },
    });
  });

  it.each([
    ['name', ''],
    ['phone', null],
    ['email', null],
    ['external_id', null],
    ['tags', []],
    ['fields', {}],
  ])('loses its %s by null in PATCH, and emits an event', async (field, none) => {
    const body = {
      name: 'Nell',
      phone: '030 901820',
      email: 'n@example.com',
      external_id: 'n',
      tags: ['a'],
      fields: { a: 1 },
    };
    const made = await account.client.cdp.contacts.create({ body });
    const changed = await account.client.cdp.contacts.update({
      params: { contact_id: made.id },
      body: { [field]: null },
    });
    expect(changed).toEqual({ ...made, [field]: none, updated_at: changed.updated_at });
    const event = await platform.event(account.id, 'contact.updated', (data) => data.contact.id === made.id);
    expect(event.data).toEqual({ contact: changed, previous: { [field]: made[field as 'name'] } });
  });

  it('does not change or emit an event if PATCH is empty or repeats its values', async () => {
    const made = await account.client.cdp.contacts.create({ body: { name: 'Cy', fields: { a: 1, b: 2 } } });
    for (const body of [{}, { name: 'Cy', fields: { b: 2, a: 1 } }, { name: undefined }]) {
      expect(await account.client.cdp.contacts.update({ params: { contact_id: made.id }, body })).toEqual(made);
    }
    const marker = await account.client.cdp.contacts.update({ params: { contact_id: made.id }, body: { name: 'Cyd' } });
    await platform.event(account.id, 'contact.updated', (data) => data.contact.name === marker.name);
    const emitted = platform
      .events(account.id)
      .filter((event) => event.type === 'contact.updated' && event.data.contact.id === made.id);
    expect(emitted).toHaveLength(1);
  });

  it('is not found once deleted', async () => {
    const { id } = await account.client.cdp.contacts.create({ body: { name: 'Di' } });
    await account.client.cdp.contacts.delete({ params: { contact_id: id } });
    for (const call of [account.client.cdp.contacts.get, account.client.cdp.contacts.delete]) {
      await expect(call({ params: { contact_id: id } })).rejects.toMatchObject(refusal(404));
    }
    const isOwn = ({ contact }: { contact: { id: string } }) => contact.id === id;
    await platform.event(account.id, 'contact.deleted', (data) => isOwn(data) && data.contact.name === 'Di');
  });

  it('belongs to its account: live and test keys see different contacts', async () => {
    const { id } = await account.testClient.cdp.contacts.create({ body: { name: 'Sandbox' } });
    await expect(account.client.cdp.contacts.get({ params: { contact_id: id } })).rejects.toMatchObject(refusal(404));
  });
});

const includes = (text: string, part: string) => text.toLowerCase().includes(part.toLowerCase());

describe('PUT by external id', () => {
  it('creates a contact, then updates the oldest one with the id', async () => {
    const params = { external_id: 'crm 7/ö\\..' };
    const made = await account.client.cdp.contacts.upsertByExternalId({ params, body: { name: 'Eve' } });
    const younger = await account.client.cdp.contacts.create({
      body: { name: 'Eve again', external_id: params.external_id },
    });
    const updated = await account.client.cdp.contacts.upsertByExternalId({ params, body: { name: 'Eva' } });
    expect([updated.id, updated.name]).toEqual([made.id, 'Eva']);
    expect((await account.client.cdp.contacts.get({ params: { contact_id: younger.id } })).name).toBe('Eve again');
  });

  it('keeps the values that it omits', async () => {
    const params = { external_id: 'keep' };
    const body = { name: 'Fay', phone: '030901820', tags: ['vip'], fields: { a: 1 } };
    const made = await account.client.cdp.contacts.upsertByExternalId({ params, body });
    const updated = await account.client.cdp.contacts.upsertByExternalId({
      params,
      body: { email: 'fay@example.com' },
    });
    expect(updated).toEqual({ ...made, email: 'fay@example.com', updated_at: updated.updated_at });
    expect(await account.client.cdp.contacts.upsertByExternalId({ params, body: {} })).toEqual(updated);
    const nulls = { name: null, phone: null, email: null, tags: null, fields: null };
    const path = `/v1/cdp/contacts/by-external-id/${params.external_id}`;
    expect((await account.request('PUT', path, { body: nulls })).body).toEqual(updated);
  });

  it('creates one contact for twenty concurrent requests', async () => {
    const calls = Array.from({ length: 20 }, () =>
      account.client.cdp.contacts.upsertByExternalId({ params: { external_id: 'race' }, body: { name: 'R' } }),
    );
    expect(new Set((await Promise.all(calls)).map(({ id }) => id)).size).toBe(1);
  });
});

describe('the list', () => {
  it('pages newest first; concurrent creations cause no repetition or gap', async () => {
    const { client } = await platform.account();
    const made: string[] = [];
    for (let index = 0; index < 5; index++)
      made.unshift((await client.cdp.contacts.create({ body: { name: `P${index}` } })).id);
    const seen: string[] = [];
    for await (const contact of eachOf((page) => client.cdp.contacts.list({ query: { limit: 2, ...page } }))) {
      seen.push(contact.id);
      await client.cdp.contacts.create({ body: { name: 'meanwhile' } });
    }
    expect(seen).toEqual(made);
    const foreign = account.client.cdp.contacts.list({ query: { starting_after: made[0]! } });
    await expect(foreign).rejects.toMatchObject(refusal(400, 'starting_after'));
  });

  it('reads none of very many merged contacts, also by phone and email', async () => {
    const sql = platform.database('cdp');
    const { id: accountId, client } = await platform.account();
    const [phone, email] = ['+4930901820', 'ada@example.com'];
    const { id } = await client.cdp.contacts.create({ body: { phone, email } });
    await sql`
      insert into contacts (account_id, number, name, phone, email, tags, fields, merged_into, created_at, updated_at)
      select ${accountId}, 1000 + n, '', ${phone}, ${email}, '{}', '{}', ${id}, now(), now() from generate_series(1, 4000) as n`;
    await sql.unsafe('analyze contacts');
    for (const filter of [{}, { phones: [phone] }, { phones: ['+4930901821', phone] }, { email }]) {
      await inTransaction(sql, async (tx) => {
        const before = await rowsRead(tx, 'contacts');
        const found = await selectContacts(tx, accountId, filter, { after: undefined, limit: 10 });
        expect(found.map((contact) => contact.id)).toEqual([id]);
        expect((await rowsRead(tx, 'contacts')) - before).toBeLessThan(100);
      });
    }
  });

  it('runs one search per customer at a time, without delaying other customers', async () => {
    const sql = platform.database('cdp');
    const [one, other] = [await platform.account(), await platform.account()];
    const look = ({ client }: TestAccount) => client.cdp.contacts.list({ query: { q: 'ada' } });
    const waiting = async () => {
      const [row] = await sql<[{ count: number }]>`
        select count(*)::int as count from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
          and query like '%first as materialized%'`; // excludes queries of jobs on this table
      return row.count;
    };
    let all: Promise<unknown> = Promise.resolve();
    await inTransaction(sql, async (tx) => {
      await tx`lock table contacts in access exclusive mode`;
      const own = [look(one), look(one), look(one)];
      await waitFor('a search', async () => (await waiting()) > 0);
      all = Promise.all([...own, look(other)]);
      await waitFor('the search of another account', async () => (await waiting()) > 1);
      expect(await waiting()).toBe(2);
    });
    await expect(all).resolves.toHaveLength(4);
  });

  it('finds any part of a name, phone, email or external id, literally and in any case', async () => {
    const { client } = await platform.account();
    const made = await client.cdp.contacts.create({
      body: { name: 'Grace 100%_Hopper', phone: '+4930901820', email: 'grace@navy.example', external_id: 'X\\9' },
    });
    await client.cdp.contacts.create({ body: { name: 'Other' } });
    const found = async (q: string) => (await client.cdp.contacts.list({ query: { q } })).data.map(({ id }) => id);
    for (const q of ['HOPPER', '100%_h', '901820', 'NAVY', 'x\\9']) expect(await found(q)).toEqual([made.id]);
    for (const q of ['100_', 'nobody', '%%%']) expect(await found(q)).toEqual([]);
    const greek = await client.cdp.contacts.create({ body: { name: 'ΟΔΥΣΣΕΑΣ' } });
    expect(await found('ΟΔΥΣΣΕΑΣ')).toEqual([greek.id]);
  });

  it('finds any part of an id, a number and an address, with or without digits', async () => {
    const { client } = await platform.account();
    const people = [
      { external_id: 'Crm-0012345_7', phone: '+4930901820', email: 'ada.12345678@example.com', name: 'Ada 12345' },
      { external_id: 'crm-0012345%7', phone: '+4930901821', email: 'bo@12345.example', name: '12345 Bo' },
      { external_id: '12345-00012345', phone: '+4915112345678', email: 'x12345@12345.example', name: 'Cy' },
    ];
    for (const body of people) await client.cdp.contacts.create({ body });
    const texts = people.map((person) => Object.values(person));
    const parts = texts
      .flat()
      .flatMap((text) => [text, text.slice(1), text.slice(0, -1), text.slice(2, -2), `${text}0`])
      .filter((part) => part !== '');
    for (const q of parts) {
      const expected = people.filter((_, index) => texts[index]!.some((text) => includes(text, q)));
      const { data } = await client.cdp.contacts.list({ query: { q } });
      expect([q, data.map(({ name }) => name).reverse()]).toEqual([q, expected.map(({ name }) => name)]);
    }
  });

  it.each([
    ['Mexico', '+525512345699', '+5215512345699', '+525512345699'],
    ['Brazil', '+5511987654321', '+551187654321', '+5511987654321'],
    ['Argentina', '+541123456789', '+5491123456789', '+5491123456789'],
  ])('accepts and finds a number of %s with or without its national digit', async (_country, one, other, taken) => {
    const { client } = await platform.account();
    const { id } = await client.cdp.contacts.create({ body: { phone: one } });
    for (const phone of [one, other, ` ${other.slice(1)}`])
      expect((await client.cdp.contacts.list({ query: { phone } })).data.map((contact) => contact.id)).toEqual([id]);
    expect((await client.cdp.contacts.create({ body: { phone: other } })).phone).toBe(taken);
    expect((await client.cdp.contacts.list({ query: { phone: one } })).data).toHaveLength(2);
    expect((await client.cdp.contacts.update({ params: { contact_id: id }, body: { phone: other } })).phone).toBe(
      taken,
    );
  });

  it('filters by phone, email, external id and tag', async () => {
    const { client } = await platform.account();
    const made = await client.cdp.contacts.create({
      body: { phone: '030 901820', email: 'h@example.com', external_id: 'h', tags: ['a', 'b'] },
    });
    await client.cdp.contacts.create({ body: { name: 'B', tags: ['b'] } });
    for (const query of [
      { phone: '+49 30 901820' },
      { phone: '030901820' },
      { email: 'H@example.com' },
      { external_id: 'h' },
      { tag: 'a' },
    ]) {
      expect((await client.cdp.contacts.list({ query })).data.map(({ id }) => id)).toEqual([made.id]);
    }
    await expect(client.cdp.contacts.list({ query: { phone: 'x' } })).rejects.toMatchObject(refusal(400, 'phone'));
  });
});

it('large contacts shorten a page of the list or search, and none is missing', async () => {
  const large = await platform.account();
  const texts = (count: number, length: number) =>
    Array.from({ length: count }, (_, index) => `${index}-${'ä'.repeat(length)}`.slice(0, length));
  const fields = Object.fromEntries(texts(30, 1_000).map((text, index) => [`f${index}`, text]));
  const { id } = await large.client.cdp.contacts.create({ body: { name: 'Large', fields, tags: texts(100, 100) } });
  await platform.database('cdp')`
    insert into contacts (account_id, number, name, tags, fields, created_at, updated_at)
    select account_id, number + more, name, tags, fields, created_at, updated_at
    from contacts cross join generate_series(1, 39) as more where account_id = ${large.id} and id = ${id}`;
  for (const filter of [{}, { q: 'arg' }]) {
    const { data, sizes } = await pagesOf((query) =>
      large.client.cdp.contacts.list({ query: { ...query, ...filter } }),
    );
    expect([data.length, new Set(data.map((one) => one.id)).size, data.at(-1)!.id]).toEqual([40, 40, id]);
    expect(Math.max(...sizes)).toBeLessThan(2.2 * 1_048_576);
  }
});

describe('an Idempotency-Key', () => {
  it('leads to one change for fifty concurrent requests', async () => {
    const { client, request } = await platform.account();
    const send = () =>
      request('POST', '/v1/cdp/contacts', { body: { name: 'once' }, headers: { 'idempotency-key': 'race' } });
    const responses = await Promise.all(Array.from({ length: 30 }, send));
    expect(new Set(responses.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect(responses.filter(({ headers }) => !headers.has('idempotent-replayed'))).toHaveLength(1);
    expect((await client.cdp.contacts.list({})).data).toHaveLength(1);
  });

  it('is forgotten after 24 hours', async () => {
    const { request, client } = await platform.account();
    const send = () =>
      request('POST', '/v1/cdp/contacts', { body: { name: 'Ada' }, headers: { 'idempotency-key': 'day' } });
    await send();
    platform.clock.advance(24 * 3_600_000 - 60_000);
    expect((await send()).headers.get('idempotent-replayed')).toBe('true');
    platform.clock.advance(120_000);
    expect((await send()).headers.get('idempotent-replayed')).toBeNull();
    expect((await client.cdp.contacts.list({})).data).toHaveLength(2);
  });
});
