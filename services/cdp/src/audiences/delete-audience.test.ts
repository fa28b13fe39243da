import type { Sql } from '@customer-platform/service-kit';
import { mergeContacts, startPlatform, type TestAccount, waitFor } from '@customer-platform/testkit';
import { afterAll, beforeEach, expect, it } from '@jest/globals';
import { audiencesOf, tagged } from '../../test/audiences.ts';
import { during } from '../../test/cdp.ts';

const platform = await startPlatform({ services: ['cdp'] });
const sql = platform.database('cdp');
afterAll(() => platform.stop());

let account: TestAccount;
let audiences: ReturnType<typeof audiencesOf>;
beforeEach(async () => {
  account = await platform.account();
  audiences = audiencesOf(platform, account);
});

const remove = (id: string) => account.request('DELETE', `/v1/cdp/audiences/${id}`);
const rowsOf = (id: string) => sql<{ name: string; contact_id: string | null }[]>`
  select 'member' as name, contact_id from audience_members where audience_id = ${id}
  union all select 're-evaluation', contact_id from audience_flips where audience_id = ${id}
  union all select 'leaver', contact_id from audience_leavers where audience_id = ${id}
  union all select 'note', null from deleted_audiences where audience_id = ${id}`;
const gone = (id: string) => waitFor('all rows to be removed', async () => (await rowsOf(id)).length === 0);

it('an audience with locked members is deleted at once, no longer shown, and emptied later', async () => {
  const survivor = await audiences.contact({ phone: '+4930901820' });
  const merged = await audiences.contact({ phone: '+4930901820', tags: ['a'] });
  const [ada, bo] = [await audiences.contact({ tags: ['a'] }), await audiences.contact({ tags: ['a'] })];
  const { id } = await audiences.create(tagged('a'), 'Large');
  await audiences.holds(id, [merged, ada, bo]);
  await waitFor('all events', () => audiences.eventsOf('audience.entered', id).length === 3);
  const far = '2126-01-01T00:00:00Z';
  await sql`insert into audience_flips values (${account.id}, ${id}, ${merged}, ${far}), (${account.id}, ${id}, ${ada}, ${far})`;
  await sql`insert into audience_leavers values (${account.id}, ${id}, ${survivor}, now(), now())`;
  const lock = async (tx: Sql) => {
    await tx`select from audience_members where audience_id = ${id} and contact_id in (${merged}, ${ada}) for update`;
    await tx`select from audience_flips where audience_id = ${id} and contact_id = ${ada} for update`;
  };
  await during(sql, lock, async () => {
    expect((await remove(id)).status).toBe(204);
    expect((await remove(id)).status).toBe(404);
    expect((await account.client.cdp.audiences.list({})).data).toEqual([]);
    await waitFor('the rest to be removed', async () => (await rowsOf(id)).length === 4);
    await mergeContacts(account.client, { keep: survivor, merged });
    await account.client.cdp.contacts.delete({ params: { contact_id: ada } });
    expect((await audiences.create(tagged('b'), 'Large')).members).toBe(0);
    await platform.event(account.id, 'contact.merged');
    await platform.event(account.id, 'contact.deleted');
    expect(audiences.eventsOf('audience.left', id)).toEqual([]);
    expect(audiences.eventsOf('audience.entered', id)).toHaveLength(3);
    const left = (await rowsOf(id)).map((row) => `${row.name} ${row.contact_id ?? ''}`).sort();
    expect(left).toEqual(['note ', `member ${merged}`, `member ${ada}`, `re-evaluation ${ada}`].sort());
  });
  await gone(id);
});

it('queued moves of a deleted audience are never emitted', async () => {
  const ada = await audiences.contact();
  const { id } = await audiences.create(tagged('a'));
  await during(
    sql,
    // The audience is deleted before its moves are visible.
    async (tx) => {
      await tx`insert into audience_moves (account_id, audience_id, contact_id, kind) values (${account.id}, ${id}, ${ada}, 'entered')`;
      await tx`insert into audience_moves (account_id, audience_id, kind) values (${account.id}, ${id}, 'ready')`;
      await tx`insert into audience_announcements (account_id, due_at) values (${account.id}, ${platform.clock.now()})`;
    },
    async () => expect((await remove(id)).status).toBe(204),
  );
  await waitFor('the moves to be processed', async () => {
    return (await sql`select from audience_announcements where account_id = ${account.id}`).length === 0;
  });
  const marker = await audiences.contact();
  await platform.event(account.id, 'contact.created', ({ contact }) => contact.id === marker);
  expect(audiences.eventsOf('audience.entered', id)).toEqual([]);
  expect(audiences.eventsOf('audience.ready', id).length).toBeLessThan(2);
});

it('a running refresh of a deleted audience ends without moves or events', async () => {
  await audiences.contact({ tags: ['a'] });
  const { id } = await audiences.create(tagged('none'));
  const isWaiting = () => sql`
    select from pg_stat_activity
    where wait_event_type = 'Lock' and query like 'insert into audience_changes%' and datname = current_database()`;
  await during(
    sql,
    (tx) => tx`lock table audience_changes in access exclusive mode`,
    async () => {
      await account.client.cdp.audiences.update({ params: { audience_id: id }, body: { rules: tagged('a') } });
      await waitFor('the refresh', async () => (await isWaiting()).length > 0);
      expect((await remove(id)).status).toBe(204);
    },
  );
  // The account's worker has finished it and continues.
  const next = await audiences.create(tagged('a'), 'Next');
  expect(next.members).toBe(1);
  await gone(id);
  await platform.event(account.id, 'audience.entered', (data) => data.audience.id === next.id);
  expect(audiences.eventsOf('audience.entered', id)).toEqual([]);
  expect(platform.events(account.id).filter(({ type }) => type === 'audience.failed')).toEqual([]);
});
