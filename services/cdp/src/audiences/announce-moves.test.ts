import type { Database } from '@customer-platform/service-kit';
import { type Platform, startPlatform, type TestAccount, waitFor } from '@customer-platform/testkit';
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { audiencesOf, tagged } from '../../test/audiences.ts';

let platform: Platform;
let sql: Database;
let account: TestAccount;

beforeAll(async () => {
  platform = await startPlatform({ services: ['cdp'] });
  sql = platform.database('cdp');
}, 60_000);
afterAll(() => platform?.stop());
beforeEach(async () => {
  account = await platform.account();
});

/** Adds contacts with a tag, of whom nothing is told. */
const addContacts = (count: number, tag: string) => sql`
  insert into contacts (account_id, id, number, name, tags, fields, created_at, updated_at)
  select ${account.id}, uuidv7(), n, 'Contact ' || n, array[${tag}], '{}', now(), now() from generate_series(1, ${count}) as n`;

it('events of very many who enter are written in parts, one for each', async () => {
  await addContacts(12_000, 'many');
  const audiences = audiencesOf(platform, account);
  const { id } = await audiences.create(tagged('many'));
  expect(await audiences.get(id)).toMatchObject({ status: 'ready', members: 12_000 });
  await waitFor('all events', () => audiences.told('audience.entered', id).length >= 12_000, 60_000);
  const told = new Set(audiences.told('audience.entered', id).map(({ contact }) => contact.id));
  expect(told.size).toBe(12_000);
  await waitFor('the end', async () => (await sql`select from audience_announcements`).length === 0);
  expect(await sql`select from audience_moves`).toHaveLength(0);
  // The time of the transaction that wrote it.
  const parts = await sql`select count(*)::int from published where account_id = ${account.id} group by created_at`;
  expect(Math.max(...parts.map(({ count }) => count))).toBeLessThanOrEqual(5_000);
});

it('an account of which very many moves are kept has its changed contacts wait, and nobody else', async () => {
  const [audiences, ofOther] = [audiencesOf(platform, account), audiencesOf(platform, await platform.account())];
  const [{ id }, other] = [await audiences.create(tagged('a')), await ofOther.create(tagged('a'))];
  await sql`insert into audience_announcements (account_id, due_at) values (${account.id}, now() + interval '1 hour')`;
  await sql`
    insert into audience_moves (account_id, audience_id, contact_id, entered)
    select ${account.id}, ${id}, uuidv7(), true from generate_series(1, 50001)`;
  const contact = await audiences.contact({ tags: ['a'] });
  for (const name of ['one', 'two']) await ofOther.contact({ name, tags: ['a'] });
  await waitFor('those of another', async () => (await ofOther.get(other.id)).members === 2);
  expect(await sql`select from changed_contacts where account_id = ${account.id}`).toHaveLength(1);
  await sql`delete from audience_moves where account_id = ${account.id}`;
  await audiences.holds(id, [contact]);
  await sql`delete from audience_announcements where account_id = ${account.id}`;
});

it('moves behind those that are kept are told of in their order, but for contacts that are gone', async () => {
  const audiences = audiencesOf(platform, account);
  const { id } = await audiences.create(tagged('a'));
  await sql`insert into audience_announcements (account_id, due_at) values (${account.id}, now() + interval '1 hour')`;
  const moved = await audiences.contact({ tags: ['a'] });
  const gone = await audiences.contact({ tags: ['a'] });
  await audiences.holds(id, [moved, gone]);
  await account.client.updateContact({ params: { contact_id: moved }, body: { tags: [] } });
  await account.client.deleteContact({ params: { contact_id: gone } });
  await audiences.holds(id, []);
  expect(audiences.told('audience.entered', id)).toEqual([]);
  await sql`update audience_announcements set due_at = now() where account_id = ${account.id}`;
  await platform.event(account.id, 'audience.left', ({ contact }) => contact.id === moved);
  const told = platform.events(account.id).filter(({ type }) => /^audience\.(entered|left)$/.test(type));
  expect(told.map(({ type, data }) => [type, data.contact.id])).toEqual([
    ['audience.left', gone],
    ['audience.entered', moved],
    ['audience.left', moved],
  ]);
});
