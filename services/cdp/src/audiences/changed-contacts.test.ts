import { randomUUID } from 'node:crypto';
import { everybody, inTransaction, type Sql } from '@customer-platform/service-kit';
import { rowsRead, startPlatform } from '@customer-platform/testkit';
import { afterAll, describe, expect, it } from '@jest/globals';
import { beforeFirst } from '../accounts/claim-account.ts';
import { nextAccountToReevaluate, nextChangedAccount, takeChanged } from './changed-contacts.sql.ts';

const platform = await startPlatform({ services: ['cdp'] });
const sql = platform.database('cdp');
afterAll(() => platform.stop());

/** An account with very many rows before all of the other's, of which each has one. */
const [many, other] = [randomUUID(), randomUUID()].sort() as [string, string];
const now = new Date('2026-11-20T09:00:00Z');

/** Does `work` in a transaction that is rolled back, and returns its result and how many rows of the table were read for it. */
async function beside<Result>(
  table: string,
  work: (tx: Sql) => Promise<Result>,
): Promise<{ result: Result; read: number }> {
  const done = new Error('done');
  let outcome: { result: Result; read: number } | undefined;
  const working = inTransaction(sql, async (tx) => {
    // Nothing is read but what is there now: the service looks for it too, and waits until it has gone.
    await tx`lock table changed_contacts, audience_flips in exclusive mode`;
    await tx`delete from changed_contacts`;
    await tx`delete from audience_flips`;
    for (const [account, count] of [
      [many, 20_000],
      [other, 1],
    ] as const) {
      await tx`insert into changed_contacts (account_id, contact_id) select ${account}::uuid, gen_random_uuid() from generate_series(1, ${count}::int)`;
      await tx`
        insert into audience_flips select ${account}::uuid, gen_random_uuid(), gen_random_uuid(),
          ${now}::timestamptz - interval '1 day' + (${account === other}::int * interval '1 hour')
        from generate_series(1, ${count}::int)`;
    }
    const before = await rowsRead(tx, table);
    const result = await work(tx);
    outcome = { result, read: (await rowsRead(tx, table)) - before };
    throw done;
  });
  await expect(working).rejects.toBe(done);
  return outcome!;
}

const rounds = (after: string) => ({
  'that is busy': { scope: everybody, after, but: [many] },
  'with a clock of its own': { scope: everybody, after, but: [] },
});

describe.each([
  ['the first account', beforeFirst],
  ['itself', other],
])('beside an account with very many rows, a look from %s on finds another, and reads few', (_from, after) => {
  it.each(Object.entries(rounds(after)))('where it is one %s', async (_name, round) => {
    const addClock = async (tx: Sql) => {
      if (round.but.length === 0) await tx`insert into sandbox_clocks (account_id, ahead_ms) values (${many}, 1000)`;
    };
    const changed = await beside('changed_contacts', async (tx) => {
      await addClock(tx);
      return await nextChangedAccount(tx, round);
    });
    expect(changed.result).toBe(other);
    expect(changed.read).toBeLessThan(50);
    const due = await beside('audience_flips', async (tx) => {
      await addClock(tx);
      return await nextAccountToReevaluate(tx, round, now);
    });
    expect(due.result).toBe(other);
    expect(due.read).toBeLessThan(500);
  });
});

it('an account that is left out, for nobody else has anything, is looked for once around', async () => {
  const { result } = await beside('audience_flips', async (tx) => {
    const round = { scope: everybody, after: other, but: [many, other] };
    return [await nextChangedAccount(tx, round), await nextAccountToReevaluate(tx, round, now)];
  });
  expect(result).toEqual([undefined, undefined]);
});

it('a contact that changed very many times is taken once, with all its next rows', async () => {
  const [often, ...others] = Array.from({ length: 4 }, () => randomUUID()) as [string, ...string[]];
  const { result } = await beside('changed_contacts', async (tx) => {
    const add = (contactIds: readonly string[]) => tx`
      insert into changed_contacts (account_id, contact_id)
      select ${other}, id from unnest(${[...contactIds]}::uuid[]) with ordinality as each (id, place) order by place`;
    await tx`delete from changed_contacts where account_id = ${other}`;
    for (const contactId of others) await add([...Array.from({ length: 2_000 }, () => often), contactId]);
    return [await takeChanged(tx, other, 3), await takeChanged(tx, other, 3), await takeChanged(tx, other, 3)];
  });
  expect(result.map((taken) => taken.sort())).toEqual([[often, ...others.slice(0, 2)].sort(), [others[2]], []]);
});
