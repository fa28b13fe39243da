import { startPlatform, type TestAccount } from '@customer-platform/testkit';
import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';
import { addAudience, keepChanged, settle, takeChanged } from '../../test/cdp.ts';

const platform = await startPlatform({ services: ['cdp'] });
const sql = platform.database('cdp');
await keepChanged(sql);
afterAll(() => platform.stop());

let account: TestAccount;
let ada: string;
let bo: string;
beforeEach(async () => {
  account = await platform.account();
  ada = (await account.client.cdp.contacts.create({ body: { name: 'Ada', external_id: 'a-1' } })).id;
  bo = (await account.client.cdp.contacts.create({ body: { name: 'Bo' } })).id;
});

/** Sends entries unchanged and returns the response. */
async function record(events: unknown[]) {
  const response = await account.request('POST', '/v1/cdp/events', { body: { events } });
  expect(response).toMatchObject({ status: 202 });
  return response.body as {
    accepted: number;
    repeated: number;
    rejected: { index: number; code: string; message: string }[];
  };
}

/** Selects a contact's own events, oldest first. */
const eventsOf = (contactId: string) => sql`
  select id, name, at, properties from contact_events
  where account_id = ${account.id} and contact_id = ${contactId} and name not like 'contact.%' order by at, id`;

describe('a batch of events', () => {
  it('is recorded for contacts given by id or external id', async () => {
    const at = '2026-11-01T10:00:00+01:00';
    const outcome = await record([
      {
        id: 'e-1',
        contact: ada.toUpperCase(),
        name: 'cart.abandoned',
        at,
        properties: { total: 1.5, items: [{ sku: 'a' }] },
      },
      { external_id: 'a-1', name: 'page.viewed' },
      { contact: bo, name: 'page.viewed', id: null },
    ]);
    expect(outcome).toEqual({ accepted: 3, repeated: 0, rejected: [] });
    const [abandoned, viewed] = await eventsOf(ada);
    expect(abandoned).toEqual({
      id: 'e-1',
      name: 'cart.abandoned',
      at: new Date(at),
      properties: { total: 1.5, items: [{ sku: 'a' }] },
    });
    expect(viewed).toMatchObject({ name: 'page.viewed', properties: {} });
    expect(Math.abs(viewed!.at.getTime() - platform.clock.now().getTime())).toBeLessThan(60_000);
    expect(await eventsOf(bo)).toHaveLength(1);
  });

  it('records the valid ones and lists each invalid one with its index and a correction', async () => {
    const { accepted, repeated, rejected } = await record([
      { contact: ada, name: 'good' },
      { contact: ada, name: 'nul\0' },
      { contact: ada, name: 'good', properties: { deep: ['\0'] } },
      { contact: ada },
      { contact: ada, external_id: 'a-1', name: 'both' },
      { name: 'neither' },
      { contact: '00000000-0000-7000-8000-000000000000', name: 'x' },
      { external_id: 'nobody', name: 'x' },
      { contact: ada, name: 'x', at: '2026-11-01' },
      null,
      7,
      { contact: ada, name: 'x'.repeat(101) },
      { contact: bo, name: 'good' },
    ]);
    expect([accepted, repeated]).toEqual([2, 0]);
    expect(rejected.map(({ index }) => index)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
    expect(new Set(rejected.map(({ code }) => code))).toEqual(new Set(['invalid_request']));
    for (const { index, message } of rejected)
      expect(message).toMatch(new RegExp(`^events\\[${RegExp.escape(String(index))}\\]`));
    expect(rejected[1]!.message).toBe('events[2].properties.deep[0] must not contain the character NUL');
    expect(rejected[5]!.message).toBe('events[6].contact must be the id of a contact of this account');
  });

  it('may be dated at most 5 minutes ahead', async () => {
    const inSeconds = (seconds: number) => new Date(platform.clock.now().getTime() + seconds * 1000).toISOString();
    const { accepted, rejected } = await record([
      { contact: ada, name: 'soon', at: inSeconds(299) },
      { contact: ada, name: 'late', at: inSeconds(310) },
    ]);
    expect([accepted, rejected.map(({ message }) => message)]).toEqual([
      1,
      ['events[1].at must be at most 5 minutes ahead of now'],
    ]);
  });

  it('has 1 to 500 events', async () => {
    const events = Array.from({ length: 500 }, (_, index) => ({ id: `e-${index}`, contact: ada, name: 'many' }));
    expect(await record(events)).toEqual({ accepted: 500, repeated: 0, rejected: [] });
    for (const wrong of [[], [...events, { contact: ada, name: 'one too many' }]]) {
      const response = await account.request('POST', '/v1/cdp/events', { body: { events: wrong } });
      expect([response.status, response.body.error.field]).toEqual([400, 'events']);
    }
    expect(await eventsOf(ada)).toHaveLength(500);
  });
});

describe('an event id', () => {
  it('counts once per account, also within a batch and for different contacts', async () => {
    const event = { id: 'same', contact: ada, name: 'first' };
    expect(await record([event, { ...event, name: 'second' }, event])).toEqual({
      accepted: 1,
      repeated: 2,
      rejected: [],
    });
    expect(await record([{ ...event, contact: bo }])).toEqual({ accepted: 0, repeated: 1, rejected: [] });
    expect((await eventsOf(ada)).map(({ name }) => name)).toEqual(['first']);
    expect(await eventsOf(bo)).toHaveLength(0);
  });

  it('of another account is another event', async () => {
    await record([{ id: 'same', contact: ada, name: 'x' }]);
    const other = await platform.account();
    const { id } = await other.client.cdp.contacts.create({ body: { name: 'Ada' } });
    const response = await other.client.cdp.events.record({
      body: { events: [{ id: 'same', contact: id, name: 'x' }] },
    });
    expect(response.accepted).toBe(1);
  });

  it('is recorded once when the same batches race in opposite order', async () => {
    const events = Array.from({ length: 200 }, (_, index) => ({ id: `r-${index}`, contact: ada, name: 'race' }));
    const calls = Array.from({ length: 8 }, (_, index) => record(index % 2 ? events : [...events].reverse()));
    const outcomes = await Promise.all(calls);
    expect(outcomes.reduce((sum, { accepted }) => sum + accepted, 0)).toBe(200);
    expect(outcomes.reduce((sum, { repeated }) => sum + repeated, 0)).toBe(1_400);
  });
});

it('an external id refers to the oldest contact that has it', async () => {
  const younger = await account.client.cdp.contacts.create({ body: { external_id: 'a-1' } });
  await record([{ external_id: 'a-1', name: 'x' }]);
  expect([await eventsOf(ada), await eventsOf(younger.id)].map(({ length }) => length)).toEqual([1, 0]);
});

describe('contacts with new events', () => {
  it('are queued once per batch if an audience asks about the event; a repeated event is no change', async () => {
    await record([{ id: 'before', contact: ada, name: 'x' }]);
    await settle(sql, account.id, 2);
    expect(await takeChanged(sql, account.id)).toEqual([]);
    await addAudience(sql, account.id, { eventNames: ['x', 'z'] });
    await record([
      { contact: ada, name: 'x' },
      { contact: ada, name: 'y' },
      { contact: bo, name: 'x' },
    ]);
    expect((await takeChanged(sql, account.id)).sort()).toEqual([ada, bo]);
    await record([
      { id: 'before', contact: ada, name: 'x' },
      { contact: bo, name: 'y' },
    ]);
    expect(await takeChanged(sql, account.id)).toEqual([]);
  });

  it('lose their events when they are deleted', async () => {
    await record([{ contact: ada, name: 'x' }]);
    await account.client.cdp.contacts.delete({ params: { contact_id: ada } });
    expect(await eventsOf(ada)).toHaveLength(0);
    expect((await record([{ contact: ada, name: 'x' }])).rejected).toHaveLength(1);
  });
});

it('a full batch is recorded however many events audiences ask about, even with old statistics', async () => {
  await sql`alter table audience_event_names set (autovacuum_enabled = false)`;
  await sql`
    insert into audience_event_names (account_id, name, audience_id)
    select gen_random_uuid(), 'visited', gen_random_uuid() from generate_series(1, 5000)`;
  await sql`analyze audience_event_names`;
  // The most conditions that rules can have, each about another event.
  for (let batch = 0; batch < 4; batch++) {
    await sql`
      insert into audiences (account_id, name, description, rules, event_names, status, members, created_at, updated_at)
      select ${account.id}, gen_random_uuid()::text, '', '{"match": "all", "conditions": []}',
        array(select md5(a || '-' || n) || md5(n || '+' || a) || md5(n || '*' || a) from generate_series(1, 420) as n), 'failed', 0,
        now(), now()
      from generate_series(${batch * 100}::int + 1, ${batch * 100}::int + 100) as a`;
  }
  await takeChanged(sql, account.id);
  const [asked] = await sql<{ name: string }[]>`
    select event_names[420] as name from audiences where account_id = ${account.id} and cardinality(event_names) = 420 limit 1`;
  const unasked = Array.from({ length: 499 }, (_, index) => ({ contact: ada, name: `unasked-${index}` }));
  const batch = [...unasked, { contact: bo, name: asked!.name }];
  expect(await record(batch)).toEqual({ accepted: 500, repeated: 0, rejected: [] });
  expect(await takeChanged(sql, account.id)).toEqual([bo]);
});
