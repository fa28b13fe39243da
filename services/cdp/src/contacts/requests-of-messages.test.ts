import { randomUUID } from 'node:crypto';
import { findOrCreateContact, getContactReach } from '@customer-platform/contracts/cdp';
import type { Sql } from '@customer-platform/service-kit';
import { inTransaction } from '@customer-platform/service-kit';
import { busOf, startPlatform, type TestAccount, waitFor } from '@customer-platform/testkit';
import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';
import { addAudience, keepChanged, mergeInto, refusal, takeChanged } from '../../test/cdp.ts';
import { deleteContactRow } from './contacts.sql.ts';
import { lockIdentities } from './identities.sql.ts';

const platform = await startPlatform({ services: ['cdp'] });
const sql = platform.database('cdp');
await keepChanged(sql);
const bus = await busOf(platform, 'messaging');
afterAll(async () => {
  await bus.close();
  await platform.stop();
});

let account: TestAccount;
beforeEach(async () => {
  account = await platform.account();
});

const [phone, otherPhone] = ['+4930901820', '+4930901821'];
type Asked = Partial<Record<'phone' | 'email' | 'name' | 'known' | 'new_id', string>>;
const ask = async (given: Asked, accountId = account.id) =>
  (await bus.ask(findOrCreateContact, accountId, { name: 'Somebody', ...given })).contact;
const add = (body: object) => account.client.cdp.contacts.create({ body });
const get = (id: string) => account.client.cdp.contacts.get({ params: { contact_id: id } });
const all = async () => (await account.client.cdp.contacts.list({ query: { limit: 100 } })).data;

/** Returns the types of events about the account's contacts, once all events so far are published. */
async function emitted(): Promise<string[]> {
  const marker = await add({ name: 'marker' });
  await platform.event(account.id, 'contact.created', (data) => data.contact.id === marker.id);
  const events = platform.events(account.id).filter(({ data }) => data.contact && data.contact.name !== 'marker');
  return events.map(({ type }) => type);
}

describe('a contact that is requested by an address', () => {
  it('is the oldest one with it, unchanged', async () => {
    const nameless = await add({ phone, fields: { a: 1 } });
    const mailed = await add({ name: 'Bo', email: 'bo@example.com' });
    for (const body of [{ phone }, { email: 'bo@example.com' }]) await add({ name: 'Younger', ...body });
    expect(await ask({ phone, name: 'Ada' })).toEqual({ id: nameless.id, name: '', phone });
    expect(await ask({ email: ' BO@example.com', name: 'Ada' })).toEqual({ id: mailed.id, name: 'Bo', phone: '' });
    expect([await get(nameless.id), await get(mailed.id)]).toEqual([nameless, mailed]);
    expect(await emitted()).toEqual(Array(4).fill('contact.created'));
    expect(await all()).toHaveLength(5);
  });

  it('is preferably an unmerged one, even if the survivor of an older one exists', async () => {
    const merged = await add({ external_id: 'x', phone });
    const kept = await add({ external_id: 'x', phone: otherPhone, name: 'Kept' });
    await mergeInto({ platform, sql, account }, kept.id, merged.id);
    expect(await ask({ phone })).toEqual({ id: kept.id, name: 'Kept', phone: otherPhone });
    expect(await ask({ phone: otherPhone })).toMatchObject({ id: kept.id });
    const younger = await add({ phone, name: 'Younger' });
    expect(await ask({ phone })).toEqual({ id: younger.id, name: 'Younger', phone });
    expect(await all()).toHaveLength(2);
  });

  it('is the survivor of the oldest one with it if all were merged', async () => {
    const email = 'both@example.com';
    const [first, second] = [await add({ external_id: 'x', email }), await add({ external_id: 'y', email })];
    const keptFirst = await add({ external_id: 'x', email: 'x@example.com' });
    const keptSecond = await add({ external_id: 'y', email: 'y@example.com' });
    await mergeInto({ platform, sql, account }, keptSecond.id, second.id);
    await mergeInto({ platform, sql, account }, keptFirst.id, first.id);
    expect((await ask({ email })).id).toBe(keptFirst.id);
  });

  it('is never one of another account', async () => {
    const mine = await add({ phone });
    const stranger = await platform.account();
    const theirs = await ask({ phone }, stranger.id);
    expect(theirs.id).not.toBe(mine.id);
    expect((await stranger.client.cdp.contacts.list({})).data.map(({ id }) => id)).toEqual([theirs.id]);
    expect((await ask({ phone })).id).toBe(mine.id);
  });
});

describe('a contact whose number has a national digit', () => {
  const lines: [string, string, string][] = [
    ['Mexico', '+525512345699', '+5215512345699'],
    ['Argentina', '+541123456789', '+5491123456789'],
    ['Brazil', '+5511987654321', '+551187654321'],
  ];

  it.each(lines)('of %s is found by either form', async (_country, one, other) => {
    const known = await add({ name: 'Lupe', phone: one });
    expect(await ask({ phone: other })).toEqual({ id: known.id, name: 'Lupe', phone: one });
    expect(await ask({ phone: one })).toMatchObject({ id: known.id });
    expect(await all()).toHaveLength(1);
  });

  it('is the oldest one with either form, preferably unmerged', async () => {
    const oldest = await add({ external_id: 'x', phone: '+5491123456789' });
    const younger = await add({ phone: '+541123456789' });
    for (const phone of ['+5491123456789', '+541123456789']) expect((await ask({ phone })).id).toBe(oldest.id);
    const kept = await add({ external_id: 'x', phone: otherPhone });
    await mergeInto({ platform, sql, account }, kept.id, oldest.id);
    for (const phone of ['+5491123456789', '+541123456789']) expect((await ask({ phone })).id).toBe(younger.id);
  });

  it('is created once with the valid form for concurrent requests with both forms', async () => {
    const asked = ['+5215512345699', '+525512345699'].flatMap((phone) => Array(10).fill(phone));
    const found = await Promise.all(asked.map((number) => ask({ phone: number })));
    expect(new Set(found.map(({ id }) => id)).size).toBe(1);
    expect(await all()).toMatchObject([{ phone: '+525512345699' }]);
  });
});

describe('the known contact of a sender', () => {
  it('is found even if its number has changed; if merged, its survivor is found', async () => {
    const known = await add({ external_id: 'x', name: 'Ada', phone });
    const other = await add({ external_id: 'x', name: 'Bo', phone: otherPhone });
    expect((await ask({ known: known.id, phone: otherPhone })).id).toBe(known.id);
    await mergeInto({ platform, sql, account }, other.id, known.id);
    expect(await ask({ known: known.id, new_id: randomUUID() })).toEqual({
      id: other.id,
      name: 'Bo',
      phone: otherPhone,
    });
  });

  it('is found by its number or created again if it was deleted', async () => {
    const gone = await add({ phone });
    const other = await add({ phone: otherPhone });
    await account.client.cdp.contacts.delete({ params: { contact_id: gone.id } });
    expect((await ask({ known: gone.id, phone: otherPhone })).id).toBe(other.id);
    const [id, name] = [randomUUID(), 'Ada'];
    expect(await ask({ known: gone.id, new_id: id, name })).toEqual({ id, name, phone: '' });
  });
});

describe('a contact without an address', () => {
  it('is created once under the requested id, however often the request is repeated', async () => {
    const id = randomUUID();
    const found = await Promise.all(Array.from({ length: 10 }, () => ask({ new_id: id, name: 'Ada' })));
    expect(found).toEqual(Array(10).fill({ id, name: 'Ada', phone: '' }));
    expect(await all()).toMatchObject([{ id, number: 1, name: 'Ada', phone: null, email: null }]);
    expect(await emitted()).toEqual(['contact.created']);
  });

  it('with a number has that id too, and is found by it after its number has changed', async () => {
    const id = randomUUID();
    expect(await ask({ new_id: id, phone })).toMatchObject({ id, phone });
    await account.client.cdp.contacts.update({ params: { contact_id: id }, body: { phone: otherPhone } });
    expect(await ask({ new_id: id, phone })).toMatchObject({ id, phone: otherPhone });
  });
});

describe('a new contact', () => {
  it('is created and emits an event like any other', async () => {
    await addAudience(sql, account.id);
    const made = await ask({ phone, name: 'Ada' });
    expect(made).toEqual({ id: expect.any(String), name: 'Ada', phone });
    const contact = await get(made.id);
    expect(contact).toMatchObject({
      number: 1,
      name: 'Ada',
      phone,
      email: null,
      external_id: null,
      tags: [],
      fields: {},
    });
    const event = await platform.event(account.id, 'contact.created');
    expect(event).toMatchObject({ account: account.id, mode: 'live' });
    expect(event.data).toEqual({ contact });
    expect(event.timestamp).toMatch(/\+0[12]:00$/);
    expect(await takeChanged(sql, account.id)).toEqual([made.id]);
    expect(await sql`select 1 from duplicate_runs where account_id = ${account.id}`).toHaveLength(1);
    const mailed = await ask({ email: 'Ada@Example.com', name: 'Ada' });
    expect(await get(mailed.id)).toMatchObject({ number: 2, name: 'Ada', phone: null, email: 'ada@example.com' });
  });

  it("belongs to the sandbox if requested there, and emits an event in the sandbox's mode", async () => {
    const made = await ask({ phone }, account.sandboxId);
    expect((await account.testClient.cdp.contacts.get({ params: { contact_id: made.id } })).phone).toBe(phone);
    expect(await platform.event(account.sandboxId, 'contact.created')).toMatchObject({ mode: 'test' });
    expect(await all()).toEqual([]);
  });

  it('keeps a number that no numbering plan has, and at most 200 characters of a name', async () => {
    const made = await ask({ phone: '+15005550006', name: `${'😀'.repeat(199)}ab` });
    expect(made).toMatchObject({ phone: '+15005550006', name: `${'😀'.repeat(199)}a` });
    expect((await ask({ phone: '+15005550006' })).id).toBe(made.id);
  });

  it('stores a sender name in composed form', async () => {
    const name = 'Zoë Ångström';
    expect(await ask({ phone: '+4930901829', name: name.normalize('NFD') })).toMatchObject({ name });
  });

  it('is created after the first one was deleted', async () => {
    const { id } = await ask({ phone });
    await account.client.cdp.contacts.delete({ params: { contact_id: id } });
    const next = await ask({ phone, name: 'Next' });
    expect([next.id === id, next.name]).toEqual([false, 'Next']);
  });

  it.each([{}, { phone, email: 'ada@example.com' }, { phone: '030 901820' }, { phone: '' }, { email: 'ada' }])(
    'is not created for %j',
    async (given) => {
      await expect(ask(given)).rejects.toMatchObject(refusal(503));
      expect(await all()).toEqual([]);
    },
  );
});

describe('concurrently', () => {
  it('twenty requests for a new number lead to one contact and one event', async () => {
    const found = await Promise.all(Array.from({ length: 20 }, (_, index) => ask({ phone, name: `N${index}` })));
    expect(new Set(found.map(({ id }) => id)).size).toBe(1);
    expect(new Set(found.map(({ name }) => name)).size).toBe(1);
    expect(await all()).toMatchObject([{ id: found[0]!.id, number: 1 }]);
    expect(await emitted()).toEqual(['contact.created']);
  });

  /** Returns the reply to a request made during `change`, while a merge or a deletion holds the lock. */
  async function askedDuring(change: (tx: Sql) => Promise<unknown>) {
    let reply: ReturnType<typeof ask> | undefined;
    await inTransaction(sql, async (tx) => {
      await lockIdentities(tx, account.id);
      await change(tx);
      // The requester retries if the reply was late.
      reply = ask({ phone, name: 'New' }).catch(() => ask({ phone, name: 'New' }));
      await waitFor('the request to wait', async () => {
        const [row] = await sql<{ waiting: boolean }[]>`
          select exists (select from pg_stat_activity where datname = current_database() and wait_event = 'advisory') as waiting`;
        return row!.waiting;
      });
    });
    return await reply!;
  }

  it('a contact that is being deleted is not found, and a new one is created', async () => {
    const { id } = await add({ phone, name: 'Gone' });
    const found = await askedDuring((tx) => deleteContactRow(tx, account.id, id));
    expect(found).toEqual({ id: expect.any(String), name: 'New', phone });
    expect((await all()).map((contact) => contact.id)).toEqual([found.id]);
  });

  it('a contact that is being merged is found as its survivor', async () => {
    const merged = await add({ phone });
    const kept = await add({ phone: otherPhone, name: 'Kept' });
    const found = await askedDuring(
      (tx) => tx`update contacts set merged_into = ${kept.id} where account_id = ${account.id} and id = ${merged.id}`,
    );
    expect(found).toEqual({ id: kept.id, name: 'Kept', phone: otherPhone });
  });
});

type Channel = 'whatsapp' | 'sms' | 'email';
const addId = async (body: object): Promise<string> => (await add(body)).id;
const reach = (contact: string, channel: Channel = 'sms', purpose = 'news', accountId = account.id) =>
  bus.ask(getContactReach, accountId, { contact, channel, purpose });
const say = (contact: string, [channel, purpose]: [Channel, string], state: 'granted' | 'withdrawn', at?: string) =>
  account.client.cdp.contacts.consents.record({
    params: { contact_id: contact },
    body: { channel, purpose, state, ...(at === undefined ? {} : { at }) },
  });
const nowhere = { address: null, consent: null };

describe('the reach of a contact', () => {
  it('is its phone for sms and whatsapp, and its email for email', async () => {
    const id = await addId({ phone: '030 901820', email: 'Ada@Example.com' });
    expect(await reach(id, 'sms')).toEqual({ address: '+4930901820', consent: null });
    expect(await reach(id, 'whatsapp')).toEqual({ address: '+4930901820', consent: null });
    expect(await reach(id, 'email')).toEqual({ address: 'ada@example.com', consent: null });
    expect(await reach(id.toUpperCase(), 'email')).toEqual({ address: 'ada@example.com', consent: null });
  });

  it('is null without such an address, whatever its consents', async () => {
    const [phone, email] = [await addId({ phone: '030 901820' }), await addId({ email: 'bo@example.com' })];
    await say(phone, ['email', 'news'], 'granted');
    expect(await reach(phone, 'email')).toEqual({ address: null, consent: 'granted' });
    expect(await reach(email, 'sms')).toEqual(nowhere);
    expect(await reach(email, 'whatsapp')).toEqual(nowhere);
  });

  it('includes its latest consent for that purpose and channel only', async () => {
    const id = await addId({ phone: '030 901820', email: 'ada@example.com' });
    await say(id, ['sms', 'news'], 'granted', '2026-01-02T00:00:00Z');
    await say(id, ['sms', 'news'], 'withdrawn', '2026-01-01T00:00:00Z');
    await say(id, ['email', 'offers'], 'withdrawn');
    expect((await reach(id, 'sms', 'news')).consent).toBe('granted');
    expect((await reach(id, 'sms', 'offers')).consent).toBeNull();
    expect((await reach(id, 'whatsapp', 'news')).consent).toBeNull();
    expect((await reach(id, 'email', 'news')).consent).toBeNull();
    expect((await reach(id, 'email', 'offers')).consent).toBe('withdrawn');
    await say(id, ['sms', 'news'], 'withdrawn');
    expect((await reach(id, 'sms', 'news')).consent).toBe('withdrawn');
  });

  it("is the survivor's of a merged contact, and so is the consent", async () => {
    const merged = await addId({ external_id: 'x', phone: '030 901820', email: 'old@example.com' });
    const kept = await addId({ external_id: 'x', email: 'new@example.com' });
    await say(merged, ['email', 'news'], 'withdrawn');
    await say(kept, ['email', 'news'], 'granted');
    await say(kept, ['sms', 'news'], 'granted');
    await mergeInto({ platform, sql, account }, kept, merged);
    for (const id of [merged, kept]) {
      expect(await reach(id, 'email')).toEqual({ address: 'new@example.com', consent: 'withdrawn' });
      expect(await reach(id, 'sms')).toEqual({ address: '+4930901820', consent: 'granted' });
    }
    await account.client.cdp.contacts.delete({ params: { contact_id: kept } });
    for (const id of [merged, kept]) expect(await reach(id, 'email')).toEqual(nowhere);
  });

  it('is null for a contact that is unknown, deleted or of another account', async () => {
    const id = await addId({ phone: '030 901820' });
    await say(id, ['sms', 'news'], 'granted');
    expect(await reach(randomUUID())).toEqual(nowhere);
    expect(await reach(id, 'sms', 'news', (await platform.account()).id)).toEqual(nowhere);
    expect(await reach(id)).toEqual({ address: '+4930901820', consent: 'granted' });
    await account.client.cdp.contacts.delete({ params: { contact_id: id } });
    expect(await reach(id)).toEqual(nowhere);
  });
});
