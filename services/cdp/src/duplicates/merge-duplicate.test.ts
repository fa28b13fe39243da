import { randomUUID } from 'node:crypto';
import type { Contact } from '@customer-platform/contracts/cdp';
import type { Sql } from '@customer-platform/service-kit';
import { startPlatform, type TestAccount, waitFor } from '@customer-platform/testkit';
import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';
import { addAudience, during, keepChanged, lookForDuplicates, refusal, takeChanged } from '../../test/cdp.ts';
import { takeReevaluations } from '../audiences/changed-contacts.sql.ts';

const platform = await startPlatform({ services: ['cdp'] });
const sql = platform.database('cdp');
await keepChanged(sql);
afterAll(() => platform.stop());

let account: TestAccount;
beforeEach(async () => {
  account = await platform.account();
});

const add = (values: Partial<Contact>): Promise<Contact> =>
  account.client.cdp.contacts.create({ body: values as object });
const get = (id: string) => account.client.cdp.contacts.get({ params: { contact_id: id } });
const pairs = async () => (await account.client.cdp.duplicates.list({ query: { limit: 100 } })).data;
const merge = (id: number, keep: string) =>
  account.client.cdp.duplicates.merge({ params: { duplicate_id: id }, body: { keep } });

/** Returns the id of the pair of two contacts. */
async function pairOf(one: Contact, other: Contact): Promise<number> {
  const ids = [one.id, other.id].sort();
  const found = (await pairs()).find(({ contacts }) => contacts.map(({ id }) => id).join() === ids.join());
  return found!.id;
}

/** Merges the second contact into the first. */
async function mergeInto(kept: Contact, merged: Contact): Promise<Contact> {
  await lookForDuplicates(platform, sql, account);
  return await merge(await pairOf(kept, merged), kept.id);
}

describe('the kept contact', () => {
  it('keeps its values and gets missing ones, with the tags and fields of both', async () => {
    const merged = await add({
      name: 'Ada Old',
      external_id: 'old',
      phone: '+4930901820',
      email: 'ada@example.com',
      tags: ['b', 'c'],
      fields: { a: 'old', b: 2 },
    });
    const kept = await add({ name: 'Ada', email: 'ada@example.com', tags: ['a', 'b'], fields: { a: 1 } });
    const survivor = await mergeInto(kept, merged);
    expect(survivor).toEqual({
      ...kept,
      external_id: 'old',
      phone: '+4930901820',
      tags: ['a', 'b', 'c'],
      fields: { a: 1, b: 2 },
      updated_at: survivor.updated_at,
    });
    const { data } = await platform.event(account.id, 'contact.merged');
    const previous = { external_id: null, phone: null, tags: ['a', 'b'], fields: { a: 1 } };
    const summary = { id: merged.id, name: 'Ada Old', phone: '+4930901820' };
    expect(data).toEqual({ contact: survivor, merged: summary, previous });
    expect((await account.client.cdp.contacts.list({})).data).toEqual([survivor]);
    expect(await pairs()).toEqual([]);
  });

  it('is found by the external id of either', async () => {
    const [kept, merged] = [
      await add({ external_id: 'kept', email: 'both@example.com' }),
      await add({ external_id: 'merged', email: 'both@example.com' }),
    ];
    const survivor = await mergeInto(kept, merged);
    const found = async (query: object) => (await account.client.cdp.contacts.list({ query })).data;
    for (const external_id of ['kept', 'merged']) {
      expect(await found({ external_id })).toEqual([survivor]);
      expect(await found({ external_id, q: 'BOTH' })).toEqual([survivor]);
    }
    expect(await found({ external_id: 'nobody' })).toEqual([]);
  });

  it('can be changed even if it exceeds the limit of fields', async () => {
    const fields = (name: string) => Object.fromEntries(Array.from({ length: 100 }, (_, index) => [name + index, 1]));
    const [kept, merged] = [
      await add({ external_id: 'x', fields: fields('a') }),
      await add({ external_id: 'x', fields: fields('b') }),
    ];
    await mergeInto(kept, merged);
    const params = { contact_id: kept.id };
    const changed = await account.client.cdp.contacts.update({ params, body: { name: 'Ada', fields: { a0: null } } });
    expect(Object.keys(changed.fields)).toHaveLength(199);
    const more = account.client.cdp.contacts.update({ params, body: { fields: { c0: 1 } } });
    await expect(more).rejects.toMatchObject(refusal(400, 'fields'));
  });

  it('has the consents of both, and a withdrawal of either wins, whenever it was given', async () => {
    const [kept, merged] = [await add({ external_id: 'x' }), await add({ external_id: 'x' })];
    const say = (contact: Contact, purpose: string, state: 'granted' | 'withdrawn', at: string) =>
      account.client.cdp.contacts.consents.record({
        params: { contact_id: contact.id },
        body: { channel: 'email', purpose, state, at },
      });
    await say(kept, 'late grant', 'granted', '2026-02-01T00:00:00Z');
    await say(merged, 'late grant', 'withdrawn', '2026-01-01T00:00:00Z');
    await say(kept, 'kept withdrew', 'withdrawn', '2026-01-01T00:00:00Z');
    await say(merged, 'kept withdrew', 'granted', '2026-02-01T00:00:00Z');
    await say(merged, 'merged only', 'granted', '2026-02-01T00:00:00Z');
    await mergeInto(kept, merged);
    await say(kept, 'late grant', 'granted', '2026-01-15T00:00:00Z');
    const states = () =>
      sql`select purpose, state, contact_id from consent_states where account_id = ${account.id} order by purpose`;
    expect(await states()).toEqual([
      { purpose: 'kept withdrew', state: 'withdrawn', contact_id: kept.id },
      { purpose: 'late grant', state: 'withdrawn', contact_id: kept.id },
      { purpose: 'merged only', state: 'granted', contact_id: kept.id },
    ]);
    const { data } = await account.client.cdp.contacts.consents.list({ params: { contact_id: merged.id } });
    expect(data.map(({ purpose, state, source }) => `${purpose} ${state} ${source}`).sort()).toEqual([
      'kept withdrew granted ',
      'kept withdrew withdrawn ',
      'kept withdrew withdrawn merge',
      'late grant granted ',
      'late grant granted ',
      'late grant withdrawn ',
      'late grant withdrawn merge',
      'merged only granted ',
    ]);
    await account.client.cdp.contacts.consents.record({
      params: { contact_id: merged.id },
      body: { channel: 'email', purpose: 'late grant', state: 'granted' },
    });
    expect((await states())[1]).toMatchObject({ state: 'granted' });
  });

  it('has the events and memberships of both, and is queued as changed', async () => {
    const [kept, merged] = [await add({ external_id: 'x' }), await add({ external_id: 'x' })];
    const events = [kept, merged, merged].map(({ id }, index) => ({ id: `e-${index}`, contact: id, name: 'x' }));
    await account.client.cdp.events.record({ body: { events } });
    const [both, one] = [
      await addAudience(sql, account.id, { members: 2 }),
      await addAudience(sql, account.id, { members: 1 }),
    ];
    for (const [audience, contact] of [
      [both, kept.id],
      [both, merged.id],
      [one, merged.id],
    ] as const) {
      await sql`insert into audience_members values (${account.id}, ${audience}, ${contact}, '2026-01-01T00:00:00Z')`;
      await sql`insert into audience_flips values (${account.id}, ${audience}, ${contact}, '2126-01-01T00:00:00Z')`;
    }
    await mergeInto(kept, merged);
    const owners =
      await sql`select distinct contact_id from contact_events where account_id = ${account.id} and name = 'x'`;
    expect(owners).toEqual([{ contact_id: kept.id }]);
    const members = await sql`
      select audience_id, contact_id, entered_at from audience_members where account_id = ${account.id} order by audience_id`;
    expect(members.map((row) => [row.audience_id, row.contact_id, row.entered_at.toISOString()])).toEqual([
      [both, kept.id, '2026-01-01T00:00:00.000Z'],
      [one, kept.id, '2026-01-01T00:00:00.000Z'],
    ]);
    expect(await sql`select members from audiences where account_id = ${account.id}`).toEqual([
      { members: 1 },
      { members: 1 },
    ]);
    const reevaluations = await sql`select contact_id from audience_flips where account_id = ${account.id}`;
    expect(reevaluations).toEqual([{ contact_id: kept.id }]);
    expect(await takeChanged(sql, account.id)).toContain(kept.id);
  });
});

describe('the merged id', () => {
  it('stands for the survivor everywhere, through a second merge too', async () => {
    const first = await add({ name: 'First', external_id: 'f', phone: '+4930901820' });
    const second = await add({ name: 'Second', external_id: 's', phone: '+4930901820', email: 's@example.com' });
    const third = await add({ name: 'Third', external_id: 't', email: 's@example.com' });
    await mergeInto(second, first);
    const survivor = await mergeInto(third, second);
    for (const id of [first.id, second.id, third.id]) expect(await get(id)).toEqual(survivor);
    const params = { contact_id: first.id };
    expect((await account.client.cdp.contacts.update({ params, body: { name: 'Renamed' } })).id).toBe(third.id);
    for (const external_id of ['f', 's', 't']) {
      const put = await account.client.cdp.contacts.upsertByExternalId({
        params: { external_id },
        body: { fields: { [external_id]: 1 } },
      });
      expect(put.id).toBe(third.id);
    }
    expect(await get(second.id)).toMatchObject({ name: 'Renamed', external_id: 't', fields: { f: 1, s: 1, t: 1 } });
    await account.client.cdp.contacts.consents.record({
      params,
      body: { channel: 'sms', purpose: 'news', state: 'granted' },
    });
    const events = [
      { contact: first.id, name: 'x' },
      { external_id: 's', name: 'x' },
    ];
    expect((await account.client.cdp.events.record({ body: { events } })).accepted).toBe(2);
    const rows = await sql`
      select contact_id from contact_events where account_id = ${account.id} and name = 'x'
      union all select contact_id from consents where account_id = ${account.id}`;
    expect(rows.map(({ contact_id }) => contact_id)).toEqual([third.id, third.id, third.id]);
    expect((await account.client.cdp.contacts.list({})).data.map(({ id }) => id)).toEqual([third.id]);
  });

  it('is deleted with its survivor, whichever of them is deleted', async () => {
    const [kept, merged] = [await add({ external_id: 'x' }), await add({ external_id: 'x' })];
    await mergeInto(kept, merged);
    await account.client.cdp.contacts.delete({ params: { contact_id: merged.id } });
    for (const { id } of [kept, merged]) await expect(get(id)).rejects.toMatchObject(refusal(404));
    const { data } = await platform.event(account.id, 'contact.deleted');
    expect(data.contact.id).toBe(kept.id);
    expect((await add({ external_id: 'x' })).merged_into).toBeNull();
    expect(await sql`select id from contacts where account_id = ${account.id} and merged_into is not null`).toEqual([]);
  });
});

describe('a merge', () => {
  it('is rejected for another contact, a decided pair and an unknown one', async () => {
    const [kept, merged, other] = [
      await add({ external_id: 'x' }),
      await add({ external_id: 'x' }),
      await add({ name: 'Somebody' }),
    ];
    await lookForDuplicates(platform, sql, account);
    const id = await pairOf(kept, merged);
    for (const keep of [other.id, randomUUID()]) {
      await expect(merge(id, keep)).rejects.toMatchObject(refusal(400, 'keep'));
    }
    await merge(id, kept.id);
    for (const keep of [kept.id, merged.id]) await expect(merge(id, keep)).rejects.toMatchObject(refusal(409));
    const params = { duplicate_id: id };
    await expect(account.client.cdp.duplicates.dismiss({ params, body: {} })).rejects.toMatchObject(refusal(409));
    await expect(merge(id + 1_000_000, kept.id)).rejects.toMatchObject(refusal(404));
    await lookForDuplicates(platform, sql, account);
    expect(await pairs()).toEqual([]);
  });

  const insertMerged = (into: string, count: number) => sql`
    insert into contacts (account_id, number, name, tags, fields, merged_into, created_at, updated_at)
    select ${account.id}, 1000 + n, '', '{}', '{}', ${into}, now(), now() from generate_series(1, ${count}::int) as n`;

  it.each<[string, { insert(into: string): Promise<unknown>; remove(): Promise<unknown>; moved: [string, number] }]>([
    [
      'events',
      {
        insert: (into) => sql`
          insert into contact_events (account_id, id, contact_id, name, at, properties)
          select ${account.id}, 'many-' || n, ${into}, 'x', now(), '{}' from generate_series(1, 100001) as n`,
        // Compares strings: removes the ids whose number does not begin with 1. Even a busy machine moves the rest within one request.
        remove: () =>
          sql`delete from contact_events where account_id = ${account.id} and id >= 'many-2' and name = 'x'`,
        moved: ["contact_events where name = 'x'", 11_113],
      },
    ],
    [
      'contacts merged into it',
      {
        insert: (into) => insertMerged(into, 1_001),
        remove: () => sql`delete from contacts where account_id = ${account.id} and number in (1001, 1002)`,
        // Includes the contact itself.
        moved: ['contacts where merged_into is not null', 1_001],
      },
    ],
    [
      'pairs',
      {
        insert: (into) => sql`
          insert into duplicates (account_id, older_id, newer_id, reason, detail, score, status)
          select ${account.id}, ${into}, made.id, 'name', 'x', 1, 'dismissed'
          from (select uuidv7() as id from generate_series(1, 5001)) as made`,
        remove: () => sql`
          delete from duplicates where id = (select min(id) from duplicates where account_id = ${account.id} and status = 'dismissed')`,
        moved: ["merge_pairs where status = 'dismissed'", 5_000],
      },
    ],
  ])('is rejected if it would move more %s than the limit; that contact can be kept instead', async (_, many) => {
    const [large, small] = [await add({ external_id: 'x' }), await add({ external_id: 'x' })];
    await lookForDuplicates(platform, sql, account);
    const id = await pairOf(large, small);
    await many.insert(large.id);
    await expect(merge(id, small.id)).rejects.toMatchObject(refusal(409));
    expect(await pairs()).toHaveLength(1);
    await merge(id, large.id);
    const other = await add({ external_id: 'x' });
    await many.remove();
    await mergeInto(other, large);
    const [rows, count] = many.moved;
    expect(await sql`select from ${sql.unsafe(rows)} and account_id = ${account.id}`).toHaveLength(count);
  });

  it('is rejected if more than 5,000 contacts would be merged into one', async () => {
    const [large, small] = [await add({ external_id: 'x' }), await add({ external_id: 'x' })];
    await lookForDuplicates(platform, sql, account);
    const id = await pairOf(large, small);
    await insertMerged(large.id, 5_000);
    const message: unknown = expect.stringContaining('At most 5000 contacts');
    await expect(merge(id, large.id)).rejects.toMatchObject({ ...refusal(409), message });
    await sql`delete from contacts where account_id = ${account.id} and number = 1001`;
    await merge(id, large.id);
  });

  it("moves the merged contact's other pairs to the survivor, and dismissed ones stay dismissed", async () => {
    const a = await add({ external_id: 'x', phone: '+4930901821' });
    const b = await add({ external_id: 'x', email: 'b@example.com', phone: '+4930901820' });
    const c = await add({ email: 'b@example.com' });
    const d = await add({ phone: '+4930901820' });
    await lookForDuplicates(platform, sql, account);
    const dismissed = await pairOf(b, d);
    await account.client.cdp.duplicates.dismiss({ params: { duplicate_id: dismissed }, body: {} });
    const moved = await pairOf(b, c);
    await merge(await pairOf(a, b), a.id);
    expect(await pairs()).toMatchObject([{ id: moved, reason: 'email', contacts: [{ id: a.id }, { id: c.id }] }]);
    const rows =
      await sql`select older_id, newer_id, status from duplicates where account_id = ${account.id} and id = ${dismissed}`;
    expect(rows).toEqual([{ older_id: a.id, newer_id: d.id, status: 'dismissed' }]);
  });

  it('leaves one of two pairs of the same contacts', async () => {
    const [a, b, c] = [
      await add({ external_id: 'x' }),
      await add({ external_id: 'x' }),
      await add({ external_id: 'x' }),
    ];
    await lookForDuplicates(platform, sql, account);
    expect(await pairs()).toHaveLength(3);
    await merge(await pairOf(b!, c!), c!.id);
    expect((await pairs()).map(({ contacts }) => contacts.map(({ id }) => id))).toEqual([[a!.id, c!.id]]);
  });

  it('succeeds once if two race for the same pair', async () => {
    const [kept, merged] = [await add({ external_id: 'x' }), await add({ external_id: 'x' })];
    await lookForDuplicates(platform, sql, account);
    const id = await pairOf(kept, merged);
    const outcomes = await Promise.allSettled([merge(id, kept.id), merge(id, merged.id), merge(id, kept.id)]);
    expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected', 'rejected']);
    for (const outcome of outcomes)
      if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject(refusal(409));
    expect((await account.client.cdp.contacts.list({})).data).toHaveLength(1);
  });
});

it('a merge while a refresh has an audience locked fails fast with a retryable error, then succeeds', async () => {
  const [kept, merged] = [await add({ external_id: 'x' }), await add({ external_id: 'x' })];
  const [audience] = [await addAudience(sql, account.id), await addAudience(sql, account.id)];
  await lookForDuplicates(platform, sql, account);
  const id = await pairOf(kept, merged);
  const lock = (tx: Sql) => tx`select from audiences where id = ${audience} for no key update`;
  await during(sql, lock, async () => {
    const path = `/v1/cdp/duplicates/${id}/merge`;
    const refused = await account.request('POST', path, { body: { keep: kept.id } });
    expect(refused).toMatchObject({ status: 503, body: { error: { code: 'service_unavailable' } } });
    expect(refused.headers.get('retry-after')).toBe('1');
    // Like a client that keeps retrying.
    let isTaken = false;
    const trying = (async () => {
      while (!isTaken) expect(await merge(id, kept.id).catch((error) => error)).toMatchObject(refusal(503));
    })();
    const events = [{ contact: merged.id, name: 'meanwhile' }];
    expect((await account.client.cdp.events.record({ body: { events } })).accepted).toBe(1);
    isTaken = true;
    await trying;
  });
  expect((await merge(id, kept.id)).id).toBe(kept.id);
  expect(await get(merged.id)).toMatchObject({ id: kept.id });
  const owners =
    await sql`select contact_id from contact_events where account_id = ${account.id} and name = 'meanwhile'`;
  expect(owners).toEqual([{ contact_id: kept.id }]);
});

it('a merge does not wait for a refresh that re-evaluates its contact', async () => {
  const [kept, merged] = [await add({ external_id: 'x' }), await add({ external_id: 'x' })];
  const audience = await addAudience(sql, account.id);
  await sql`insert into audience_flips values (${account.id}, ${audience}, ${merged.id}, '2126-01-01T00:00:00Z')`;
  const take = (tx: Sql) => takeReevaluations(tx, account.id, new Date('2126-01-02T00:00:00Z'), 10);
  await lookForDuplicates(platform, sql, account);
  const id = await pairOf(kept, merged);
  expect(await during(sql, take, async () => await merge(id, kept.id))).toMatchObject({ id: kept.id });
});

it('a merge that fails midway changes nothing', async () => {
  const [kept, merged] = [await add({ external_id: 'x' }), await add({ external_id: 'x', name: 'Ada' })];
  const params = { contact_id: merged.id };
  await account.client.cdp.contacts.consents.record({
    params,
    body: { channel: 'sms', purpose: 'news', state: 'granted' },
  });
  await account.client.cdp.events.record({ body: { events: [{ contact: merged.id, name: 'stays' }] } });
  await lookForDuplicates(platform, sql, account);
  const before = await pairs();
  await sql`alter table contact_events add constraint stays check (name <> 'stays') not valid`;
  try {
    await expect(merge(before[0]!.id, kept.id)).rejects.toMatchObject(refusal(500));
  } finally {
    await sql`alter table contact_events drop constraint stays`;
  }
  expect([await pairs(), await get(kept.id), await get(merged.id)]).toEqual([before, kept, merged]);
  expect((await account.client.cdp.contacts.consents.list({ params })).data).toHaveLength(1);
  expect((await merge(before[0]!.id, kept.id)).name).toBe('Ada');
  // Emitted last: an event of the failed merge would have arrived before it.
  const marker = await add({ name: 'Somebody' });
  await platform.event(account.id, 'contact.created', ({ contact }) => contact.id === marker.id);
  expect(platform.events(account.id).filter(({ type }) => type === 'contact.merged')).toHaveLength(1);
});

it('concurrent overlapping merges, writes, a run and a refresh leave one contact with all data', async () => {
  const people: Contact[] = [];
  for (let index = 0; index < 10; index++) people.push(await add({ external_id: 'x', fields: { [`f${index}`]: 1 } }));
  await lookForDuplicates(platform, sql, account);
  const open = await pairs();
  expect(open).toHaveLength(45);
  const rules = { match: 'all', conditions: [{ type: 'event', op: 'did', name: 'raced', days: null }] } as const;
  const audience = await account.client.cdp.audiences.create({
    body: { name: 'Raced', rules: structuredClone(rules) as never },
  });
  const writes = people.flatMap((person, index) => [
    account.client.cdp.events.record({ body: { events: people.map(({ id }) => ({ contact: id, name: 'raced' })) } }),
    account.client.cdp.contacts.consents.record({
      params: { contact_id: person.id },
      body: { channel: 'email', purpose: `p${index}`, state: 'granted' },
    }),
    account.client.cdp.contacts.update({ params: { contact_id: person.id }, body: { fields: { [`g${index}`]: 1 } } }),
  ]);
  // A refresh may block a merge until it fails with a retryable error.
  const merged = async (id: number, keep: string): Promise<Contact> =>
    merge(id, keep).catch((error) => (error.status === 503 ? merged(id, keep) : Promise.reject(error)));
  const merges = open.map(({ id, contacts }, index) => merged(id, contacts[index % 2]!.id));
  const looks = [account.client.cdp.duplicates.find({ body: {} })];
  const outcomes = await Promise.allSettled<unknown>([...merges, ...writes, ...looks]);
  const failures = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason.status] : []));
  expect(failures.filter((status) => ![400, 404, 409].includes(status))).toEqual([]);
  expect((await Promise.allSettled(writes)).filter(({ status }) => status === 'rejected')).toEqual([]);
  const [survivor, ...others] = (await account.client.cdp.contacts.list({})).data;
  expect(others).toEqual([]);
  expect(Object.keys(survivor!.fields)).toHaveLength(20);
  for (const { id } of people) expect((await get(id)).id).toBe(survivor!.id);
  const strays = await sql`
    select (select count(*)::int from contact_events where account_id = ${account.id} and name = 'raced') as events,
      (select count(*)::int from consents where account_id = ${account.id} and contact_id = ${survivor!.id}) as consents,
      (select count(*)::int from contact_events where account_id = ${account.id} and name = 'raced' and contact_id <> ${survivor!.id}) as stray,
      (select count(*)::int from consent_states where account_id = ${account.id} and contact_id <> ${survivor!.id}) as states`;
  expect(strays).toEqual([{ events: 100, consents: 10, stray: 0, states: 0 }]);
  await lookForDuplicates(platform, sql, account);
  expect(await pairs()).toEqual([]);
  const params = { audience_id: audience.id };
  await waitFor('the survivor to be the one member', async () => {
    const { members } = await account.client.cdp.audiences.get({ params });
    const { data } = await account.client.cdp.audiences.members.list({ params });
    return members === 1 && data.length === 1 && JSON.stringify(data).includes(survivor!.id);
  });
});
