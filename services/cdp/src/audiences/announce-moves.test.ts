import { mergeContacts, startPlatform, type TestAccount, waitFor } from '@customer-platform/testkit';
import { afterAll, beforeEach, expect, it } from '@jest/globals';
import { audiencesOf, tagged } from '../../test/audiences.ts';

const platform = await startPlatform({ services: ['cdp'] });
const sql = platform.database('cdp');
afterAll(() => platform.stop());

let account: TestAccount;
beforeEach(async () => {
  account = await platform.account();
});

/** Adds contacts with a tag, without emitting events. */
const addContacts = (count: number, tag: string) => sql`
  insert into contacts (account_id, id, number, name, tags, fields, created_at, updated_at)
  select ${account.id}, uuidv7(), n, 'Contact ' || n, array[${tag}], '{}', now(), now() from generate_series(1, ${count}) as n`;

it('the events of very many new members are written in batches, followed by audience.ready', async () => {
  await addContacts(12_000, 'many');
  const audiences = audiencesOf(platform, account);
  const { id } = await audiences.create(tagged('many'));
  expect(await audiences.get(id)).toMatchObject({ status: 'ready', members: 12_000 });
  const ready = await waitFor('audience.ready', () => audiences.eventsOf('audience.ready', id)[0], 60_000);
  expect(ready.previous).toEqual({ status: 'building', members: 0, refreshed_at: null });
  const emitted = new Set(audiences.eventsOf('audience.entered', id).map(({ contact }) => contact.id));
  expect([emitted.size, audiences.eventsOf('audience.entered', id).length]).toEqual([12_000, 12_000]);
  await waitFor('the queue to be empty', async () => (await sql`select from audience_announcements`).length === 0);
  expect(await sql`select from audience_moves`).toHaveLength(0);
  // The time of the transaction that wrote the event.
  const parts = await sql`select count(*)::int from published where account_id = ${account.id} group by created_at`;
  expect(Math.max(...parts.map(({ count }) => count))).toBeLessThanOrEqual(5_000);
});

it('many queued moves of an account delay its own changed contacts only', async () => {
  const [audiences, ofOther] = [audiencesOf(platform, account), audiencesOf(platform, await platform.account())];
  const [{ id }, other] = [await audiences.create(tagged('a')), await ofOther.create(tagged('a'))];
  await keepAll();
  await sql`
    insert into audience_moves (account_id, audience_id, contact_id, kind)
    select ${account.id}, ${id}, uuidv7(), 'entered' from generate_series(1, 50001)`;
  const contact = await audiences.contact({ tags: ['a'] });
  for (const name of ['one', 'two']) await ofOther.contact({ name, tags: ['a'] });
  await waitFor('the events of another account', async () => (await ofOther.get(other.id)).members === 2);
  expect(await sql`select from changed_contacts where account_id = ${account.id}`).toHaveLength(1);
  await sql`delete from audience_moves where account_id = ${account.id}`;
  await audiences.holds(id, [contact]);
  await sql`delete from audience_announcements where account_id = ${account.id}`;
});

const keepAll = () =>
  sql`insert into audience_announcements (account_id, due_at) values (${account.id}, now() + interval '1 hour')`;
const announceAll = () => sql`update audience_announcements set due_at = now() where account_id = ${account.id}`;

it('a contact with very many queued moves can be deleted once fewer are left', async () => {
  const audiences = audiencesOf(platform, account);
  const [{ id }, contact] = [await audiences.create(tagged('a')), await audiences.contact()];
  await keepAll();
  await sql`
    insert into audience_moves (account_id, audience_id, contact_id, kind)
    select ${account.id}, ${id}, ${contact}, case when n % 2 = 0 then 'entered' else 'left' end from generate_series(1, 2001) as n`;
  const remove = () => account.request('DELETE', `/v1/cdp/contacts/${contact}`);
  const refused = await remove();
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
  await sql`delete from audience_moves where id = (select min(id) from audience_moves where account_id = ${account.id})`;
  expect((await remove()).status).toBe(204);
  await waitFor('all events', () => audiences.eventsOf('audience.left', id).length === 1_000);
  expect(audiences.eventsOf('audience.entered', id)).toHaveLength(1_000);
  await sql`delete from audience_announcements where account_id = ${account.id}`;
});

it('moves behind queued ones are emitted in order, and those of a contact before its deletion', async () => {
  const audiences = audiencesOf(platform, account);
  const { id } = await audiences.create(tagged('a'));
  await keepAll();
  const moved = await audiences.contact({ tags: ['a'] });
  const gone = await audiences.contact({ tags: ['a'] });
  const [kept, merged] = [
    await audiences.contact({ phone: '+4930901820' }),
    await audiences.contact({ phone: '+4930901820', tags: ['a'] }),
  ];
  await audiences.holds(id, [moved, gone, merged]);
  await account.client.cdp.contacts.update({ params: { contact_id: moved }, body: { tags: [] } });
  await audiences.holds(id, [gone, merged]);
  expect(audiences.eventsOf('audience.entered', id)).toEqual([]);
  await account.client.cdp.contacts.delete({ params: { contact_id: gone } });
  await mergeContacts(account.client, { keep: kept, merged });
  await platform.event(account.id, 'contact.merged');
  expect(audiences.eventsOf('audience.entered', id).map(({ contact }) => contact.id)).toEqual([gone, merged, kept]);
  await announceAll();
  await platform.event(account.id, 'audience.left', ({ contact }) => contact.id === moved);
  expect(story()).toEqual([
    ['audience.entered', gone],
    ['audience.left', gone],
    ['contact.deleted', gone],
    ['contact.deleted', gone], // the internal event for other modules
    ['audience.entered', merged],
    ['audience.left', merged],
    ['audience.entered', kept],
    ['contact.merged', merged],
    ['audience.entered', moved],
    ['audience.left', moved],
  ]);
});

it('queued moves of a survivor are emitted before it replaces the merged contact as a member', async () => {
  const audiences = audiencesOf(platform, account);
  const [survivor, merged] = [
    await audiences.contact({ phone: '+4930901820', tags: ['a'] }),
    await audiences.contact({ phone: '+4930901820', tags: ['a'] }),
  ];
  const { id } = await audiences.create(tagged('a'));
  await audiences.holds(id, [survivor, merged]);
  await waitFor('both events', () => audiences.eventsOf('audience.entered', id).length === 2);
  await waitFor('the queue to be empty', async () => (await sql`select from audience_announcements`).length === 0);
  await keepAll();
  await account.client.cdp.contacts.update({ params: { contact_id: survivor }, body: { tags: [] } });
  await audiences.holds(id, [merged]);
  const before = story().length;
  await mergeContacts(account.client, { keep: survivor, merged });
  await audiences.holds(id, [survivor]);
  await announceAll();
  await waitFor('the queue to be empty', async () => (await sql`select from audience_announcements`).length === 0);
  await platform.event(account.id, 'contact.merged');
  expect(story().slice(before)).toEqual([
    ['audience.left', survivor],
    ['audience.left', merged],
    ['audience.entered', survivor],
    ['contact.merged', merged],
  ]);
});

/** The account's member events, with the contact of each. */
function story(): [type: string, contact: string][] {
  const emitted = platform
    .events(account.id)
    .filter(({ type }) => /^(audience\.(entered|left)|contact\.(deleted|merged))$/.test(type));
  return emitted.map(({ type, data }) => [type, data.merged?.id ?? data.contact.id]);
}
