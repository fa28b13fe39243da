import { startPlatform, type TestAccount } from '@customer-platform/testkit';
import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';
import { audiencesOf, tagged } from '../../test/audiences.ts';
import { mergeInto, refusal } from '../../test/cdp.ts';
import { deleteLeavers } from '../leavers/leavers.sql.ts';

let account: TestAccount;
let audiences: ReturnType<typeof audiencesOf>;
let audience: string;
/** Ids of the members in the order of the list. */
let members: string[];

const startedAt = '2026-11-20T08:00:00Z';

const platform = await startPlatform({ services: ['cdp'] });
const sql = platform.database('cdp');
afterAll(() => platform.stop());
beforeEach(async () => {
  platform.clock.set(startedAt);
  account = await platform.account();
  audiences = audiencesOf(platform, account);
  await Promise.all(
    [1, 2, 3, 4, 5].map((index) => audiences.contact({ name: `Contact ${index}`, external_id: 'same', tags: ['a'] })),
  );
  audience = (await audiences.create(tagged('a'))).id;
  members = (await audiences.members(audience)).map(({ id }) => id);
  expect(members).toHaveLength(5);
});

const page = (starting_after?: string) =>
  account.client.cdp.audiences.members.list({
    params: { audience_id: audience },
    query: { limit: 2, ...(starting_after === undefined ? {} : { starting_after }) },
  });
const idsAfter = async (cursor: string) => (await page(cursor)).data.map(({ id }) => id);
const untag = (id: string) => account.client.cdp.contacts.update({ params: { contact_id: id }, body: { tags: [] } });
const retag = (id: string) => account.client.cdp.contacts.update({ params: { contact_id: id }, body: { tags: ['a'] } });
const without = (...gone: string[]) => members.filter((id) => !gone.includes(id));

describe('a page of members after one that', () => {
  it('has left continues at its position, without gap or repetition', async () => {
    const { next } = await page();
    expect(next).toBe(members[1]);
    await untag(next!);
    await audiences.holds(audience, without(next!));
    expect(await idsAfter(next!)).toEqual(members.slice(2, 4));
  });

  it('was deleted continues at its position', async () => {
    await account.client.cdp.contacts.delete({ params: { contact_id: members[1]! } });
    await audiences.holds(audience, without(members[1]!));
    expect(await idsAfter(members[1]!)).toEqual(members.slice(2, 4));
  });

  it.each([
    ['the first member', 0],
    ['the last member', 4],
  ])('was merged into %s continues at its position', async (_, kept) => {
    await mergeInto({ platform, sql, account }, members[kept]!, members[2]!);
    await audiences.holds(audience, without(members[2]!));
    expect(await idsAfter(members[2]!)).toEqual(members.slice(3));
  });

  it('left a day ago, or was never a member, is rejected', async () => {
    await untag(members[1]!);
    await audiences.holds(audience, without(members[1]!));
    platform.clock.set('2026-11-21T07:59:00Z');
    expect(await idsAfter(members[1]!)).toEqual(members.slice(2, 4));
    platform.clock.set('2026-11-21T08:30:00Z');
    await expect(page(members[1]!)).rejects.toMatchObject(refusal(400, 'starting_after'));
    expect(await deleteLeavers(sql, new Date('2026-11-21T07:59:00Z'), 1_000)).toBe(0);
    // The job that runs each minute may have deleted them first.
    await deleteLeavers(sql, platform.clock.now(), 1_000);
    expect(await sql`select from audience_leavers where account_id = ${account.id}`).toHaveLength(0);
    await expect(page(await audiences.contact())).rejects.toMatchObject(refusal(400, 'starting_after'));
  });

  it('left only another audience is rejected, and accounts are separate', async () => {
    const { id: other } = await audiences.create(tagged('b'), 'Other');
    await untag(members[1]!);
    await audiences.holds(audience, without(members[1]!));
    const elsewhere = account.client.cdp.audiences.members.list({
      params: { audience_id: other },
      query: { starting_after: members[1]! },
    });
    await expect(elsewhere).rejects.toMatchObject(refusal(400, 'starting_after'));
  });

  it('left and entered again continues at its current position; after leaving again, at its last one', async () => {
    const again = members[3]!;
    await untag(again);
    await audiences.holds(audience, without(again));
    platform.clock.set('2026-11-20T09:00:00Z');
    await retag(again);
    await audiences.holds(audience, members);
    const reordered = [again, ...without(again)];
    expect((await audiences.members(audience)).map(({ id }) => id)).toEqual(reordered);
    expect(await idsAfter(again)).toEqual(reordered.slice(1, 3));
    await untag(again);
    await audiences.holds(audience, without(again));
    expect(await idsAfter(again)).toEqual(reordered.slice(1, 3));
  });
});
