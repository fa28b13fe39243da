import { eachOf } from '@customer-platform/client';
import { inTransaction } from '@customer-platform/service-kit';
import { pagesOf, startPlatform, type TestAccount, waitFor } from '@customer-platform/testkit';
import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';
import { audiencesOf, tagged, visited } from '../../test/audiences.ts';
import { refusal } from '../../test/cdp.ts';

const platform = await startPlatform({ services: ['cdp'] });
afterAll(() => platform.stop());

let account: TestAccount;
let audiences: ReturnType<typeof audiencesOf>;
beforeEach(async () => {
  account = await platform.account();
  audiences = audiencesOf(platform, account);
});

describe('an audience', () => {
  it('is building when it is created, then ready with its members, and emits events', async () => {
    const ada = await audiences.contact({ name: 'Ada', phone: '030901820', tags: ['vip'] });
    await audiences.contact({ name: 'Bo' });
    const made = await account.client.cdp.audiences.create({ body: { name: 'VIPs', rules: tagged('vip') } });
    expect(made).toMatchObject({ status: 'building', members: 0, refreshed_at: null, error: '', description: '' });
    const ready = await audiences.ready(made.id);
    expect(ready).toMatchObject({ name: 'VIPs', members: 1, rules: tagged('vip'), updated_at: made.updated_at });
    const event = await platform.event(account.id, 'audience.ready', (data) => data.audience.id === made.id);
    const { refreshed_at } = event.data.audience;
    // Events about the contacts themselves may have caused another refresh.
    const previous = { status: 'building', members: 0, refreshed_at: null };
    expect(event.data).toEqual({ audience: { ...ready, refreshed_at }, previous });
    const [member] = await audiences.members(made.id);
    expect(member).toEqual({ id: ada, name: 'Ada', phone: '+4930901820', entered_at: refreshed_at });
    const entered = await platform.event(account.id, 'audience.entered');
    expect(entered).toMatchObject({ mode: 'live', account: account.id, timestamp: refreshed_at });
    expect(entered.data).toEqual({
      audience: { id: made.id, name: 'VIPs' },
      contact: { id: ada, name: 'Ada', phone: '+4930901820' },
    });
  });

  it('is one of at most 1,000 of its account, even with concurrent creations', async () => {
    const sql = platform.database('cdp');
    await sql`
      insert into audiences (account_id, name, description, rules, status, created_at, updated_at)
      select ${account.id}, 'old ' || n, '', ${sql.json(tagged('a'))}, 'ready', now(), now() from generate_series(1, 999) as n`;
    const create = (name: string) => account.client.cdp.audiences.create({ body: { name, rules: tagged('b') } });
    const created = await Promise.allSettled(['one', 'two', 'three'].map(create));
    const refused = created.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
    expect(refused).toEqual(Array(2).fill(expect.objectContaining({ status: 409, code: 'invalid_state' })));
    expect(refused[0].message).toContain('An account has at most 1,000 audiences; delete one first');
    expect((await account.testClient.cdp.audiences.create({ body: { name: 'one', rules: tagged('b') } })).name).toBe(
      'one',
    );
    await sql`delete from audiences where account_id = ${account.id} and name = 'old 1'`;
    expect((await create('four')).name).toBe('four');
  });

  it('compares phones and emails in any spelling with the stored ones', async () => {
    const ada = await audiences.contact({ email: 'ada@example.com' });
    const bo = await audiences.contact({ phone: '+49 30 901820' });
    const cy = await audiences.contact({ phone: '+525512345699' });
    const none = await audiences.contact({ name: 'None' });
    const found = async (name: string, op: 'is' | 'is_not', value: string) => {
      const rules = { match: 'all' as const, conditions: [{ type: 'field' as const, name, op, value }] };
      const { sample } = await account.client.cdp.audiences.preview({ body: { rules } });
      return sample.map(({ id }) => id).toReversed();
    };
    expect(await found('email', 'is', ' Ada@Example.com ')).toEqual([ada]);
    expect(await found('email', 'is_not', 'ADA@EXAMPLE.COM')).toEqual([bo, cy, none]);
    for (const phone of ['030 901820', '+49 (30) 901820', '0049 30901820']) {
      expect([phone, await found('phone', 'is', phone)]).toEqual([phone, [bo]]);
      expect([phone, await found('phone', 'is_not', phone)]).toEqual([phone, [ada, cy, none]]);
    }
    expect(await found('phone', 'is', '+5215512345699')).toEqual([cy]);
    expect(await found('phone', 'is', 'unknown')).toEqual([]);
    const rules = {
      match: 'all' as const,
      conditions: [{ type: 'field' as const, name: 'phone', op: 'is' as const, value: '030 901820' }],
    };
    const { id } = await audiences.create(rules);
    await audiences.holds(id, [bo]);
    const { member } = await account.client.cdp.audiences.explain({
      params: { audience_id: id },
      query: { contact: bo },
    });
    expect(member).toBe(true);
  });

  it('has a unique name in its account', async () => {
    const { id } = await audiences.create(tagged('a'), 'one');
    const { id: other } = await audiences.create(tagged('a'), 'two');
    const body = { name: 'one', rules: tagged('b') };
    await expect(account.client.cdp.audiences.create({ body })).rejects.toMatchObject(refusal(400, 'name'));
    const rename = account.client.cdp.audiences.update({ params: { audience_id: other }, body: { name: 'one' } });
    await expect(rename).rejects.toMatchObject(refusal(400, 'name'));
    await account.client.cdp.audiences.delete({ params: { audience_id: id } });
    expect((await account.client.cdp.audiences.create({ body })).name).toBe('one');
    expect((await account.testClient.cdp.audiences.create({ body })).name).toBe('one');
  });

  it.each([
    [{ match: 'all', conditions: [] }, 'rules.conditions'],
    [
      { match: 'all', conditions: [...Array(2).fill(tagged('x').conditions[0]), { ...visited(0).conditions[0] }] },
      'rules.conditions[2].days must be 1 to 365 or null',
    ],
    [
      { match: 'all', conditions: [tagged('x').conditions[0], visited(400)] },
      'rules.conditions[1].conditions[0].days must be 1 to 365 or null',
    ],
    [{ match: 'one', conditions: tagged('x').conditions }, 'rules.match must be all or any'],
    [
      { match: 'all', conditions: [{ type: 'field', name: 'age', op: 'is' }] },
      'rules.conditions[0].value must be given with is',
    ],
    [{ match: 'all', conditions: [{ match: 'any', conditions: [tagged('x')] }] }, 'rules.conditions[0].conditions[0]'],
  ])('is rejected with the rules %j', async (rules, message) => {
    const response = await account.request('POST', '/v1/cdp/audiences', { body: { name: 'x', rules } });
    expect(response).toMatchObject({ status: 400, body: { error: { code: 'invalid_request', field: 'rules' } } });
    expect(response.body.error.message).toContain(message);
  });

  it('PATCH changes the given values only; new rules are computed, and remaining members do not leave', async () => {
    const both = await audiences.contact({ tags: ['a', 'b'] });
    const before = await audiences.contact({ tags: ['a'] });
    const made = await audiences.create(tagged('a'));
    const params = { audience_id: made.id };
    const [since] = (await audiences.members(made.id)).filter(({ id }) => id === both);
    for (const body of [{}, { name: 'Audience' }, { rules: tagged('a') }]) {
      expect(await account.client.cdp.audiences.update({ params, body })).toEqual({
        ...made,
        refreshed_at: expect.any(String),
      });
    }
    const renamed = await account.client.cdp.audiences.update({ params, body: { name: 'B', description: 'about b' } });
    expect(renamed).toMatchObject({ name: 'B', description: 'about b', status: 'ready' });
    const after = await audiences.contact({ tags: ['b'] });
    const changed = await account.client.cdp.audiences.update({ params, body: { rules: tagged('b') } });
    expect(changed).toMatchObject({ status: 'building', members: 2, rules: tagged('b') });
    await audiences.holds(made.id, [both, after]);
    expect((await audiences.members(made.id)).find(({ id }) => id === both)).toEqual(since);
    const left = await platform.event(account.id, 'audience.left', (data) => data.contact.id === before);
    expect(left.data.audience).toEqual({ id: made.id, name: 'B' });
    expect((await audiences.ready(made.id)).members).toBe(2);
  });

  it('is gone once deleted, with its members', async () => {
    await audiences.contact({ tags: ['a'] });
    const { id } = await audiences.create(tagged('a'));
    const params = { audience_id: id };
    await account.client.cdp.audiences.delete({ params });
    for (const call of [
      account.client.cdp.audiences.get,
      account.client.cdp.audiences.delete,
      account.client.cdp.audiences.members.list,
    ]) {
      await expect(call({ params })).rejects.toMatchObject(refusal(404));
    }
    await expect(account.client.cdp.audiences.refresh({ params, body: {} })).rejects.toMatchObject(refusal(404));
    expect((await account.client.cdp.audiences.list({})).data).toEqual([]);
  });

  it('is listed newest first; a page never repeats and belongs to its account', async () => {
    const ids: string[] = [];
    for (const name of ['a', 'b', 'c']) {
      ids.unshift((await account.client.cdp.audiences.create({ body: { name, rules: tagged('x') } })).id);
    }
    const seen: string[] = [];
    for await (const { id } of eachOf((page) => account.client.cdp.audiences.list({ query: { limit: 2, ...page } }))) {
      seen.push(id);
    }
    expect(seen).toEqual(ids);
    const other = await platform.account();
    const foreign = other.client.cdp.audiences.list({ query: { starting_after: ids[0] } });
    await expect(foreign).rejects.toMatchObject(refusal(400, 'starting_after'));
    await expect(other.client.cdp.audiences.get({ params: { audience_id: ids[0]! } })).rejects.toMatchObject(
      refusal(404),
    );
  });
});

it('large rules shorten a page of the list, and no audience is missing', async () => {
  const { id } = await account.client.cdp.audiences.create({ body: { name: 'first', rules: tagged('x') } });
  const condition = { type: 'field', name: 'n', op: 'is', value: 'x'.repeat(1_000) };
  const nested = { match: 'all', conditions: Array.from({ length: 20 }, () => condition) };
  const sql = platform.database('cdp');
  const rules = sql.json({ match: 'all', conditions: Array.from({ length: 12 }, () => nested) });
  await sql`
    insert into audiences (account_id, name, description, rules, status, created_at, updated_at)
    select account_id, 'large ' || number, '', ${rules}, 'ready', created_at, updated_at
    from audiences cross join generate_series(1, 12) as number where id = ${id}`;
  const { data, sizes } = await pagesOf((query) => account.client.cdp.audiences.list({ query }));
  expect([data.length, new Set(data.map((one) => one.id)).size, data.at(-1)!.id]).toEqual([13, 13, id]);
  expect(Math.max(...sizes)).toBeLessThan(2.2 * 1_048_576);
});

describe('the members', () => {
  it('are listed latest first; concurrent new members cause no repetition or gap', async () => {
    const { id } = await audiences.create(tagged('a'));
    const joined: string[] = [];
    for (let count = 1; count <= 5; count++) {
      joined.unshift(await audiences.contact({ tags: ['a'] }));
      await audiences.holds(id, joined);
    }
    const seen: string[] = [];
    const params = { audience_id: id };
    for await (const member of eachOf((page) =>
      account.client.cdp.audiences.members.list({ params, query: { limit: 2, ...page } }),
    )) {
      seen.push(member.id);
      if (seen.length === 2) await audiences.holds(id, [...joined, await audiences.contact({ tags: ['a'] })]);
    }
    expect(seen).toEqual(joined);
    const stranger = await audiences.contact();
    const page = account.client.cdp.audiences.members.list({ params, query: { starting_after: stranger } });
    await expect(page).rejects.toMatchObject(refusal(400, 'starting_after'));
  });

  it('that entered at the same instant are paged completely', async () => {
    const all = await Promise.all(Array.from({ length: 7 }, () => audiences.contact({ tags: ['a'] })));
    const { id } = await audiences.create(tagged('a'));
    const seen: string[] = [];
    const params = { audience_id: id };
    for await (const member of eachOf((page) =>
      account.client.cdp.audiences.members.list({ params, query: { limit: 3, ...page } }),
    )) {
      seen.push(member.id);
    }
    expect(seen.sort()).toEqual(all.sort());
  });
});

const rulesOf = (value: string) => ({
  match: 'all' as const,
  conditions: Array.from({ length: 20 }, () => ({
    match: 'any' as const,
    conditions: Array.from({ length: 20 }, () => ({ type: 'field' as const, name: 'f', op: 'is' as const, value })),
  })),
});

it('rules are at most 256 KiB of JSON, so that the events of their audience stay below 900 KiB', async () => {
  const { id } = await audiences.create(rulesOf('x'.repeat(600)));
  const { data } = await platform.event(account.id, 'audience.ready', (emitted) => emitted.audience.id === id);
  expect(Buffer.byteLength(JSON.stringify(data))).toBeLessThan(900 * 1_024);
  const tooLarge = rulesOf('\u0001'.repeat(110));
  const refused = refusal(400, 'rules');
  const made = account.client.cdp.audiences.create({ body: { name: 'Large', rules: tooLarge } });
  await expect(made).rejects.toMatchObject(refused);
  const changed = account.client.cdp.audiences.update({ params: { audience_id: id }, body: { rules: tooLarge } });
  await expect(changed).rejects.toMatchObject(refused);
  await expect(account.client.cdp.audiences.preview({ body: { rules: tooLarge } })).rejects.toMatchObject(refused);
});

describe('a preview', () => {
  it('counts the matching contacts and shows the newest ten', async () => {
    const ids: string[] = [];
    for (let index = 0; index < 12; index++) ids.unshift(await audiences.contact({ name: `P${index}`, tags: ['a'] }));
    await audiences.contact();
    const preview = await account.client.cdp.audiences.preview({ body: { rules: tagged('a') } });
    expect(preview.members).toBe(12);
    expect(preview.sample.map(({ id }) => id)).toEqual(ids.slice(0, 10));
    expect(preview.sample[0]).toEqual({ id: ids[0], name: 'P11', phone: '' });
    const none = await account.client.cdp.audiences.preview({ body: { rules: tagged('none') } });
    expect(none).toEqual({ members: 0, sample: [] });
    expect((await account.client.cdp.audiences.list({})).data).toEqual([]);
  });

  it('runs one at a time per customer, without delaying other customers', async () => {
    const sql = platform.database('cdp');
    const other = await platform.account();
    const preview = ({ client }: typeof other) => client.cdp.audiences.preview({ body: { rules: tagged('a') } });
    const running = async () => {
      const [row] = await sql<[{ count: number }]>`
        select count(*)::int as count from pg_stat_activity where query like '%count(*) over () as members from%' and state = 'active'
          and datname = current_database() and pid <> pg_backend_pid()`;
      return row.count;
    };
    let all: Promise<unknown> = Promise.resolve();
    await inTransaction(sql, async (tx) => {
      await tx`lock table contacts in access exclusive mode`;
      const own = [preview(account), preview(account), preview(account)];
      await waitFor('a preview', async () => (await running()) > 0);
      all = Promise.all([...own, preview(other)]);
      await waitFor('the preview of another account', async () => (await running()) > 1);
      expect(await running()).toBe(2);
    });
    await expect(all).resolves.toHaveLength(4);
  });

  it('takes as many conditions as rules can have', async () => {
    const id = await audiences.contact();
    await account.client.cdp.events.record({ body: { events: [{ contact: id, name: 'n399' }] } });
    const nested = (at: number) => ({
      match: 'any' as const,
      conditions: Array.from({ length: 20 }, (_, index) => ({
        type: 'event' as const,
        op: 'did' as const,
        name: `n${at * 20 + index}`,
        days: 1 + at,
      })),
    });
    const conditions = Array.from({ length: 20 }, (_, at) => nested(at));
    const preview = (match: 'all' | 'any') =>
      account.client.cdp.audiences.preview({ body: { rules: { match, conditions } } });
    expect([(await preview('any')).members, (await preview('all')).members]).toEqual([1, 0]);
    await audiences.holds((await audiences.create({ match: 'any', conditions })).id, [id]);
  });
});
