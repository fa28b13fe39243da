import { randomUUIDv7 } from 'node:crypto';
import { recordOptOut } from '@customer-platform/contracts/cdp';
import { messageOptedOut } from '@customer-platform/contracts/messaging';
import { busOf, startPlatform, type TestAccount, waitFor } from '@customer-platform/testkit';
import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';
import { mergeInto } from '../../test/cdp.ts';

const platform = await startPlatform({ services: ['cdp'] });
const sql = platform.database('cdp');
const bus = await busOf(platform, 'messaging');
afterAll(async () => {
  await bus.close();
  await platform.stop();
});

let account: TestAccount;
let contact: string;
beforeEach(async () => {
  platform.clock.set('2026-11-20T08:00:00Z');
  account = await platform.account();
  contact = (await account.client.cdp.contacts.create({ body: { name: 'Ada', email: 'ada@one.example' } })).id;
});

type State = 'granted' | 'withdrawn';

/** Sends the request that Messages sends for a keyword, `minute` minutes after 07:30. Returns whether it is on record. */
const say = async (state: State, minute: number, given: object = {}) =>
  (
    await bus.ask(recordOptOut, account.id, {
      contact,
      channel: 'sms',
      state,
      source: 'keyword',
      at: instant(minute),
      ...given,
    })
  ).changed;
const instant = (minute: number) => new Date(Date.parse('2026-11-20T07:30:00Z') + minute * 60_000).toISOString();
const record = (state: State, minute: number, channel: 'sms' | 'email' = 'sms', id = contact) =>
  account.client.cdp.contacts.consents.record({
    params: { contact_id: id },
    body: { channel, purpose: 'marketing', state, source: 'form', at: instant(minute) },
  });

/** Returns the consents on record of a contact, newest first, as `channel state source`. */
async function recorded(id = contact): Promise<string[]> {
  const { data } = await account.client.cdp.contacts.consents.list({ params: { contact_id: id } });
  return data.map(({ channel, purpose, state, source }) => {
    expect(purpose).toBe('marketing');
    return `${channel} ${state} ${source}`;
  });
}

/** Returns the contact's consent in effect for SMS; undefined if there is none. */
async function counts(id = contact): Promise<State | undefined> {
  const [row] = await sql<{ state: State }[]>`
    select state from consent_states where account_id = ${account.id} and contact_id = ${id} and channel = 'sms'`;
  return row?.state;
}

describe('a contact who opts out by a keyword', () => {
  it('loses its consent on that channel only, even without an earlier grant', async () => {
    await record('granted', 0, 'email');
    expect(await say('withdrawn', 1)).toBe(true);
    expect(await recorded()).toEqual(['sms withdrawn keyword', 'email granted form']);
    expect(await counts()).toBe('withdrawn');
  });

  it('is recorded once, however often the request is repeated', async () => {
    const replies = await Promise.all(Array.from({ length: 10 }, () => say('withdrawn', 1)));
    expect(replies).toEqual(Array(10).fill(true));
    await record('granted', 5);
    expect(await say('withdrawn', 1)).toBe(true);
    expect(await recorded()).toEqual(['sms granted form', 'sms withdrawn keyword']);
    expect(await counts()).toBe('granted');
  });

  it('loses an earlier consent and keeps a later one, in whatever order they arrive', async () => {
    await record('granted', 3);
    await say('withdrawn', 2);
    expect(await counts()).toBe('granted');
    await say('withdrawn', 5);
    await record('granted', 4);
    expect(await counts()).toBe('withdrawn');
  });

  it('is not opted in by a late report of a form filled in between two keywords', async () => {
    await say('withdrawn', 1);
    await say('withdrawn', 9);
    await record('granted', 5);
    expect(await counts()).toBe('withdrawn');
  });
});

describe('a contact who opts in again by a keyword', () => {
  it('regains what a keyword withdrew, once, however often the request is repeated', async () => {
    await record('granted', 0);
    await say('withdrawn', 1);
    const replies = await Promise.all(Array.from({ length: 10 }, () => say('granted', 2)));
    expect(replies).toEqual(Array(10).fill(true));
    expect(await recorded()).toEqual(['sms granted keyword', 'sms withdrawn keyword', 'sms granted form']);
    expect(await counts()).toBe('granted');
    expect(await say('granted', 3)).toBe(false);
  });

  it.each<[string, () => Promise<unknown>]>([
    ['it has no consent on record', async () => undefined],
    ['it has already granted it', () => record('granted', 1)],
    ['it had never granted what a keyword withdrew', () => say('withdrawn', 1)],
    ['the API withdrew it', () => record('withdrawn', 1)],
    ['a link withdrew it', () => say('withdrawn', 1, { source: 'unsubscribe' })],
    ['a keyword withdrew it on another channel', () => say('withdrawn', 1, { channel: 'whatsapp' })],
    ['the opt-out keyword has the same time', () => say('withdrawn', 9)],
    ['the opt-out keyword is later', () => say('withdrawn', 10)],
    [
      'the API had withdrawn it before a keyword did',
      async () => [await record('withdrawn', 1), await say('withdrawn', 2)],
    ],
    [
      'the API has withdrawn it after a keyword did',
      async () => [await say('withdrawn', 1), await record('withdrawn', 2)],
    ],
  ])('regains nothing if %s', async (_, before) => {
    await before();
    const [known, state] = [await recorded(), await counts()];
    expect(await say('granted', 9)).toBe(false);
    expect(await recorded()).toEqual(known);
    expect(await counts()).toBe(state);
  });

  it('regains what a keyword withdrew after a consent that followed a withdrawal by the API', async () => {
    await record('withdrawn', 1);
    await record('granted', 2);
    await say('withdrawn', 3);
    expect(await say('granted', 4)).toBe(true);
    expect(await counts()).toBe('granted');
  });
});

describe('an opt-out', () => {
  it('of a merged contact applies to its survivor', async () => {
    const kept = (await account.client.cdp.contacts.create({ body: { name: 'Ada', email: 'ada@one.example' } })).id;
    await mergeInto({ platform, sql, account }, kept, contact);
    expect(await say('withdrawn', 1)).toBe(true);
    expect([await counts(kept), await recorded(kept)]).toEqual(['withdrawn', ['sms withdrawn keyword']]);
  });

  it('of one merged contact is not undone by a keyword, since the other one had granted consent', async () => {
    const kept = (await account.client.cdp.contacts.create({ body: { name: 'Ada', email: 'ada@one.example' } })).id;
    await say('withdrawn', 1);
    await record('granted', 2, 'sms', kept);
    await mergeInto({ platform, sql, account }, kept, contact);
    expect(await say('granted', 9)).toBe(false);
    expect(await counts(kept)).toBe('withdrawn');
  });

  it('of a deleted, unknown or other account’s contact records nothing', async () => {
    const stranger = await platform.account();
    await expect(
      bus.ask(recordOptOut, stranger.id, {
        contact,
        channel: 'sms',
        state: 'withdrawn',
        source: 'keyword',
        at: instant(1),
      }),
    ).resolves.toEqual({ changed: false });
    expect(await counts()).toBeUndefined();
    await account.client.cdp.contacts.delete({ params: { contact_id: contact } });
    expect(await say('withdrawn', 1)).toBe(false);
    expect(await sql`select from consents where account_id = ${account.id}`).toHaveLength(0);
  });

  it('applies to all contacts with the number, and so does the keyword that reverses it', async () => {
    const brazil = { name: 'Rui', phone: '+5511987654321' };
    const [one, two] = await Promise.all([1, 2].map(() => account.client.cdp.contacts.create({ body: brazil })));
    const short = await account.client.cdp.contacts.create({ body: { name: 'Rui', phone: '+551187654321' } });
    const [all, at] = [[one!.id, two!.id, short.id], { contact: two!.id }];
    for (const id of all) await record('granted', 0, 'sms', id);
    await say('withdrawn', 1, at);
    expect(await Promise.all(all.map(counts))).toEqual(['withdrawn', 'withdrawn', 'withdrawn']);
    expect(await counts()).toBeUndefined();
    expect(await say('granted', 2, at)).toBe(true);
    expect(await Promise.all(all.map(counts))).toEqual(['granted', 'granted', 'granted']);
    await say('withdrawn', 3, { ...at, channel: 'email' });
    expect(await recorded(short.id)).not.toContain('email withdrawn keyword');
  });

  it('that is dated ahead counts as given now', async () => {
    await say('withdrawn', 60);
    platform.clock.advance(1_000);
    await record('granted', 30.01);
    expect(await counts()).toBe('granted');
  });

  it('by a link that is called very often is recorded at most once per minute', async () => {
    for (const minute of [1, 1.2, 1.9, 2.1, 2.2]) await say('withdrawn', minute, { source: 'unsubscribe' });
    expect(await recorded()).toEqual(['sms withdrawn unsubscribe', 'sms withdrawn unsubscribe']);
  });
});

it('an opt-out with a provider withdraws consent once, however often it is reported', async () => {
  await record('granted', 0);
  const { kind, audience } = messageOptedOut;
  const data = { contact, channel: 'sms', at: instant(1) };
  for (let round = 0; round < 3; round++) {
    const id = randomUUIDv7();
    const envelope = JSON.stringify({ id, type: kind, timestamp: instant(1), account: account.id, mode: 'live', data });
    await bus.publish({ id, kind, audience, sequence: round, envelope, trace: undefined });
  }
  await waitFor('the events to be consumed', async () => {
    const taken = await sql`select from inbox where account_id = ${account.id} and consumer = ${kind}`;
    return taken.length === 3;
  });
  expect(await recorded()).toEqual(['sms withdrawn keyword', 'sms granted form']);
  expect(await counts()).toBe('withdrawn');
});
