import { randomUUID } from 'node:crypto';
import type { Contact } from '@customer-platform/contracts/cdp';
import { allAccounts, inTransaction, type WorkCall } from '@customer-platform/service-kit';
import { startPlatform, type TestAccount, waitFor } from '@customer-platform/testkit';
import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  addAudience,
  keepChanged,
  lookForDuplicates,
  mergePair,
  refusal,
  settle,
  takeChanged,
} from '../../test/cdp.ts';
import { insertDomainEvents } from '../contact-events/contact-events.sql.ts';
import { forgetMerges } from './forget-merges.ts';
import { isTooOld } from './undo-period.ts';

const dayMs = 24 * 3_600_000;

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
const merge = (kept: Contact, merged: Contact) => mergePair({ platform, sql, account }, kept.id, merged.id);
/** Deletes expired merge records at an instant, and returns how many are left of the account. */
const recorded = async (now: Date) => {
  while (await inTransaction(sql, (tx) => forgetMerges.run({ tx, now } as WorkCall<unknown>, allAccounts)));
  const rows = await sql`
    select id from merges where account_id = ${account.id}
    union all select id from merge_pairs where account_id = ${account.id}`;
  return rows.length;
};
const undo = (params: { duplicate_id: number }) => account.client.cdp.duplicates.undo({ params, body: {} });
const update = (id: string, body: object) => account.client.cdp.contacts.update({ params: { contact_id: id }, body });
const pairs = async () => (await account.client.cdp.duplicates.list({ query: { limit: 100 } })).data;
const values = ({ updated_at: _, ...rest }: Contact) => rest;
const twins = async (first: Partial<Contact> = {}, second: Partial<Contact> = {}) =>
  [await add({ external_id: 'x', ...first }), await add({ external_id: 'x', ...second })] as const;

describe('an undone merge', () => {
  it('restores both contacts and emits an event with both', async () => {
    const [kept, merged] = await twins(
      { name: 'Ada', tags: ['both', 'first'], fields: { both: 1, first: true } },
      {
        name: 'Bea',
        phone: '+4930901820',
        email: 'bea@example.com',
        tags: ['both', 'second'],
        fields: { both: 2, second: 'two' },
      },
    );
    const { params, survivor } = await merge(kept, merged);
    expect(survivor).toMatchObject({
      phone: '+4930901820',
      email: 'bea@example.com',
      tags: ['both', 'first', 'second'],
    });
    const { data } = await undo(params);
    expect(data.map(values)).toEqual([kept, merged].map(values));
    expect([await get(kept.id), await get(merged.id)]).toEqual(data);
    expect((await account.client.cdp.contacts.list({})).data.map(({ id }) => id)).toEqual([merged.id, kept.id]);
    const event = await platform.event(account.id, 'contact.unmerged');
    expect(event.data).toEqual({ contact: data[0], restored: data[1] });
  });

  it('leaves values changed since to the survivor', async () => {
    const given = { name: 'Bea', phone: '+4930901820', email: 'bea@example.com', tags: ['gone', 'stays'] };
    const [kept, merged] = await twins({ tags: ['own'] }, { ...given, fields: { a: 1, b: 1, c: 1 } });
    const { params } = await merge(kept, merged);
    await update(kept.id, {
      name: 'Changed',
      phone: '',
      tags: ['own', 'stays', 'new'],
      fields: { a: 2, b: null, d: 4 },
    });
    const [survivor, restored] = (await undo(params)).data;
    const changed = { name: 'Changed', phone: null, email: null, tags: ['own', 'new'], fields: { a: 2, d: 4 } };
    expect(survivor).toMatchObject({ ...changed, external_id: 'x' });
    expect(values(restored!)).toEqual(values(merged));
  });

  it('leaves the survivor its earlier values, even if the merged contact had the same', async () => {
    const same = { name: 'Ada', phone: '+4930901820', email: 'ada@example.com', tags: ['t'], fields: { f: 1 } };
    const [kept, merged] = await twins(same, same);
    const { params } = await merge(kept, merged);
    expect((await undo(params)).data.map(values)).toEqual([kept, merged].map(values));
  });

  it('returns each its own consents, recomputes those in effect, and leaves later ones with the survivor', async () => {
    const [kept, merged] = await twins();
    const say = (contact: Contact, purpose: string, state: 'granted' | 'withdrawn') =>
      account.client.cdp.contacts.consents.record({
        params: { contact_id: contact.id },
        body: { channel: 'sms', purpose, state },
      });
    await say(merged, 'news', 'withdrawn');
    await say(merged, 'only merged', 'granted');
    await say(kept, 'news', 'granted');
    await say(merged, 'offers', 'granted');
    await say(kept, 'offers', 'withdrawn');
    const { params } = await merge(kept, merged);
    expect(await states(kept)).toMatchObject({ news: 'withdrawn', offers: 'withdrawn', 'only merged': 'granted' });
    await say(merged, 'later', 'granted');
    await say(kept, 'only merged', 'withdrawn');
    await undo(params);
    expect(await states(kept)).toEqual({
      news: 'granted',
      offers: 'withdrawn',
      later: 'granted',
      'only merged': 'withdrawn',
    });
    expect(await states(merged)).toEqual({ news: 'withdrawn', offers: 'granted', 'only merged': 'granted' });
    const consents = async ({ id }: Contact) =>
      (await account.client.cdp.contacts.consents.list({ params: { contact_id: id } })).data.map(
        (each) => `${each.purpose} ${each.state}`,
      );
    expect(await consents(merged)).toEqual(['offers granted', 'only merged granted', 'news withdrawn']);
    expect(await consents(kept)).toEqual([
      'only merged withdrawn',
      'later granted',
      'offers withdrawn',
      'news granted',
    ]);
  });

  it('makes audiences re-evaluate both contacts', async () => {
    await addAudience(sql, account.id);
    const [kept, merged] = await twins({}, { tags: ['vip'] });
    const condition = { type: 'tag', op: 'has', tag: 'vip' } as const;
    const audience = await account.client.cdp.audiences.create({
      body: { name: 'Vip', rules: { match: 'all', conditions: [condition] } },
    });
    const members = async () =>
      (await account.client.cdp.audiences.members.list({ params: { audience_id: audience.id } })).data.map(
        ({ id }) => id,
      );
    await waitFor('the merged contact', async () => (await members()).join() === merged.id);
    const { params } = await merge(kept, merged);
    expect(await members()).toEqual([kept.id]);
    await settle(sql, account.id, 2);
    await takeChanged(sql, account.id);
    await undo(params);
    expect(await takeChanged(sql, account.id)).toEqual(expect.arrayContaining([kept.id, merged.id]));
    await waitFor('the members', async () => (await members()).join() === merged.id);
    expect((await account.client.cdp.audiences.get({ params: { audience_id: audience.id } })).members).toBe(1);
  });

  it("restores the contact's pairs with their decisions, and dismisses its own pair", async () => {
    const [kept, merged] = await twins({}, { email: 'b@example.com', phone: '+4930901820' });
    const [open, dismissed] = [await add({ email: 'b@example.com' }), await add({ phone: '+4930901820' })];
    const known = await add({ external_id: 'x' });
    await lookForDuplicates(platform, sql, account);
    const shown = async () =>
      (await pairs()).map(({ id, reason, contacts }) => ({ id, reason, ids: contacts.map((each) => each.id) }));
    const pair = (await pairs()).find(
      ({ contacts }) => contacts[0].id === merged.id && contacts[1].id === dismissed.id,
    )!;
    await account.client.cdp.duplicates.dismiss({ params: { duplicate_id: pair.id }, body: {} });
    const before = await shown();
    const { params } = await merge(kept, merged);
    expect(await shown()).toHaveLength(before.length - 2);
    await undo(params);
    const own = before.filter(({ id }) => id !== params.duplicate_id);
    expect(await shown()).toEqual(own);
    await lookForDuplicates(platform, sql, account);
    expect(await shown()).toEqual(own);
    expect(own.flatMap(({ ids }) => ids)).toEqual(expect.arrayContaining([open.id, known.id]));
  });
});

/** Returns a contact's consents in effect by purpose. */
async function states({ id }: Contact): Promise<Record<string, string>> {
  const rows = await sql<{ purpose: string; state: string }[]>`
    select purpose, state from consent_states where account_id = ${account.id} and contact_id = ${id}`;
  return Object.fromEntries(rows.map(({ purpose, state }) => [purpose, state]));
}

/** Returns the number of events with a name, by contact. */
async function events(name: string): Promise<Record<string, number>> {
  const rows = await sql<{ contact_id: string; count: number }[]>`
    select contact_id, count(*)::int from contact_events where account_id = ${account.id} and name = ${name} group by contact_id`;
  return Object.fromEntries(rows.map(({ contact_id, count }) => [contact_id, count]));
}

describe('merges of merges', () => {
  it('are undone latest first, each with its values at that time', async () => {
    const a = await add({ name: 'A', external_id: 'ab', fields: { a: 1 } });
    const b = await add({ name: 'B', external_id: 'ab', email: 'b@example.com', fields: { b: 1 } });
    const c = await add({ name: 'C', email: 'b@example.com', fields: { c: 1 } });
    await account.client.cdp.events.record({
      body: { events: [a, b, c].map(({ id }) => ({ contact: id, name: 'x' })) },
    });
    const first = await merge(a, b);
    await account.client.cdp.events.record({ body: { events: [{ contact: b.id, name: 'between' }] } });
    const second = await merge(c, a);
    for (const { id } of [a, b, c]) expect((await get(id)).id).toBe(c.id);
    await expect(undo(first.params)).rejects.toMatchObject({
      ...refusal(409),
      message: expect.stringContaining(`undo the merge of pair ${second.params.duplicate_id} first`) as unknown,
    });
    expect((await undo(second.params)).data.map(values)).toEqual([c, first.survivor].map(values));
    expect((await get(b.id)).id).toBe(a.id);
    expect(await events('x')).toEqual({ [c.id]: 1, [a.id]: 2 });
    expect((await undo(first.params)).data.map(values)).toEqual([a, b].map(values));
    expect(await events('x')).toEqual({ [a.id]: 1, [b.id]: 1, [c.id]: 1 });
    expect(await events('between')).toEqual({ [a.id]: 1 });
    expect(await sql`select 1 from merges where account_id = ${account.id}`).toEqual([]);
  });

  it('cannot be undone before a later merge into the survivor', async () => {
    const [kept, merged] = await twins();
    const third = await add({ external_id: 'x' });
    const first = await merge(kept, merged);
    const second = await merge(kept, third);
    await expect(undo(first.params)).rejects.toMatchObject(refusal(409));
    await undo(second.params);
    expect((await undo(first.params)).data.map(({ id }) => id)).toEqual([kept.id, merged.id]);
  });

  it('ignore an undone merge that was repeated in the other direction', async () => {
    const [kept, merged] = await twins({ name: 'Kept' }, { name: 'Merged' });
    await account.client.cdp.events.record({ body: { events: [{ contact: merged.id, name: 'x' }] } });
    const { params } = await merge(kept, merged);
    await undo(params);
    await update(kept.id, { phone: '+4930901820', external_id: 'y' });
    await update(merged.id, { external_id: 'z', email: 'same@example.com' });
    await update(kept.id, { external_id: 'z', email: 'same@example.com' });
    await sql`update duplicates set status = 'open' where account_id = ${account.id}`;
    const again = await merge(merged, kept);
    expect(again.survivor).toMatchObject({ id: merged.id, name: 'Merged', phone: '+4930901820' });
    await undo(again.params);
    expect(await get(merged.id)).toMatchObject({ name: 'Merged', phone: null });
    expect(await get(kept.id)).toMatchObject({ name: 'Kept', phone: '+4930901820' });
    expect(await events('x')).toEqual({ [merged.id]: 1 });
  });
});

describe('undoing', () => {
  it('is rejected for a pair that is not merged, already undone, or unknown', async () => {
    const [kept, merged] = await twins();
    await lookForDuplicates(platform, sql, account);
    const open = { duplicate_id: (await pairs())[0]!.id };
    await expect(undo(open)).rejects.toMatchObject({ ...refusal(409), code: 'invalid_state' });
    const { params } = await merge(kept, merged);
    await undo(params);
    await expect(undo(params)).rejects.toMatchObject(refusal(409));
    await expect(undo({ duplicate_id: params.duplicate_id + 1_000_000 })).rejects.toMatchObject(refusal(404));
    const other = await platform.account();
    await expect(other.client.cdp.duplicates.undo({ params, body: {} })).rejects.toMatchObject(refusal(404));
  });

  it('is rejected for a merge that was not recorded', async () => {
    const [kept, merged] = await twins();
    const { params } = await merge(kept, merged);
    await sql`delete from merges where account_id = ${account.id}`;
    await expect(undo(params)).rejects.toMatchObject({
      ...refusal(409),
      message: expect.stringContaining('too old to be undone') as unknown,
    });
  });

  it('succeeds once if two race', async () => {
    const [kept, merged] = await twins();
    const { params } = await merge(kept, merged);
    const outcomes = await Promise.allSettled([undo(params), undo(params), undo(params)]);
    const statuses = outcomes.map((outcome) => (outcome.status === 'fulfilled' ? 200 : outcome.reason.status));
    expect(statuses.sort()).toEqual([200, 409, 409]);
    // Emitted last: a second event would have arrived before it.
    const marker = await add({ name: 'Somebody' });
    await platform.event(account.id, 'contact.created', ({ contact }) => contact.id === marker.id);
    expect(platform.events(account.id).filter(({ type }) => type === 'contact.unmerged')).toHaveLength(1);
  });

  it('and a concurrent merge of the same contacts are serialized', async () => {
    const [kept, merged] = await twins();
    const third = await add({ external_id: 'x' });
    const { params } = await merge(kept, merged);
    await lookForDuplicates(platform, sql, account);
    const pair = (await pairs()).find(({ contacts }) => contacts.some(({ id }) => id === third.id))!;
    const [undone] = await Promise.allSettled([
      undo(params),
      account.client.cdp.duplicates.merge({ params: { duplicate_id: pair.id }, body: { keep: kept.id } }),
    ]);
    const ids = async () => (await account.client.cdp.contacts.list({})).data.map(({ id }) => id);
    if (undone.status === 'rejected') {
      expect(undone.reason).toMatchObject(refusal(409));
      expect(await ids()).toEqual([kept.id]);
    } else expect(await ids()).toEqual([merged.id, kept.id]);
  });

  it('is impossible after the contacts are deleted', async () => {
    const [kept, merged] = await twins({}, { email: 'b@example.com' });
    await add({ email: 'b@example.com' });
    const { params } = await merge(kept, merged);
    await account.client.cdp.contacts.delete({ params: { contact_id: merged.id } });
    await expect(undo(params)).rejects.toMatchObject(refusal(404));
    expect(await recorded(platform.clock.now())).toBe(0);
  });

  it('changes nothing if it fails midway', async () => {
    const [kept, merged] = await twins({ name: 'Ada' }, { phone: '+4930901820' });
    await account.client.cdp.events.record({ body: { events: [{ contact: merged.id, name: 'stays' }] } });
    const { params, survivor } = await merge(kept, merged);
    await sql`alter table contact_events add constraint stays check (name <> 'stays') not valid`;
    try {
      await expect(undo(params)).rejects.toMatchObject(refusal(500));
    } finally {
      await sql`alter table contact_events drop constraint stays`;
    }
    for (const { id } of [kept, merged]) expect(await get(id)).toEqual(survivor);
    expect(values((await undo(params)).data[1])).toEqual(values(merged));
  });
});

it('a late event of the platform from before the merge belongs to the restored contact', async () => {
  const [kept, merged] = await twins();
  await settle(sql, account.id, 2);
  await sql`delete from contact_events where account_id = ${account.id} and contact_id = ${merged.id}`;
  const { params } = await merge(kept, merged);
  const event = { account: account.id, contact: merged.id, properties: {} };
  const at = (seconds: number) => new Date(platform.clock.now().getTime() + seconds * 1_000);
  await insertDomainEvents(sql, [
    { ...event, id: randomUUID(), name: 'deal.won', at: at(-3_600) },
    { ...event, id: randomUUID(), name: 'deal.lost', at: at(60) },
    { ...event, contact: merged.number, id: randomUUID(), name: 'plan.failed', at: at(-3_600) },
  ]);
  await undo(params);
  expect(await events('deal.won')).toEqual({ [merged.id]: 1 });
  expect(await events('deal.lost')).toEqual({ [kept.id]: 1 });
  expect(await events('plan.failed')).toEqual({ [merged.id]: 1 });
});

describe('30 days', () => {
  it('limit how long a merge can be undone, to the millisecond', () => {
    const mergedAt = new Date('2026-03-01T12:00:00Z');
    const after = (ms: number) => isTooOld(mergedAt, new Date(mergedAt.getTime() + 30 * dayMs + ms));
    expect([after(-1_000), after(-1), after(0), after(1_000)]).toEqual([false, false, true, true]);
  });

  it('are counted by the clock of the account, and the record expires a day later', async () => {
    const [kept, merged] = await twins();
    const [other, late] = [await add({ external_id: 'y' }), await add({ external_id: 'y', email: 'b@example.com' })];
    await add({ email: 'b@example.com' });
    const [first, second] = [await merge(kept, merged), await merge(other, late)];
    // Tolerates an hour, for a machine that stalls.
    platform.clock.advance(30 * dayMs - 3_600_000);
    expect((await undo(first.params)).data[1].id).toBe(merged.id);
    platform.clock.advance(3_600_000);
    const tooOld = { ...refusal(409), message: expect.stringContaining('30 days ago or earlier') as unknown };
    await expect(undo(second.params)).rejects.toMatchObject(tooOld);
    const now = platform.clock.now();
    expect(await recorded(now)).toBe(2);
    expect(await recorded(new Date(now.getTime() + dayMs + 3_600_000))).toBe(0);
    await expect(undo(second.params)).rejects.toMatchObject(refusal(409));
    platform.clock.advance(-30 * dayMs);
  });
});
