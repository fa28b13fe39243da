import { randomUUID } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Database, inTransaction } from '@customer-platform/service-kit';
import { type Platform, startPlatform } from '@customer-platform/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  assignToSurvivor,
  type ContactChange,
  idsOfContact,
  insertReply,
  knownContact,
  upsertContacts,
} from './contacts.sql.ts';

let platform: Platform;
let sql: Database;
beforeAll(async () => {
  platform = await startPlatform({ services: ['crm', 'catalogue'] });
  sql = platform.database('crm');
}, 60_000);
afterAll(() => platform.stop());

const change = (account_id: string, id: string, sequence: number, values: Partial<ContactChange> = {}) => {
  const said = { name: `after ${sequence}`, phone: '', merged_into: undefined, deleted: false };
  return { account_id, id, sequence, ...said, ...values };
};
const keep = (...changes: ContactChange[]) => inTransaction(sql, (tx) => upsertContacts(tx, changes));
const ids = (count: number) => Array.from({ length: count }, () => randomUUID() as string);

/** Orders and batches in which changes may arrive. */
const deliveryOrders: ((changes: ContactChange[]) => ContactChange[][])[] = [
  (changes) => [changes],
  (changes) => [changes.toReversed()],
  (changes) => changes.map((one) => [one]),
  (changes) => changes.toReversed().map((one) => [one]),
  (changes) => [changes.filter((_, index) => index % 2 === 1), changes.filter((_, index) => index % 2 === 0)],
  (changes) => [...changes, ...changes].map((one) => [one]),
];

describe('the copy', () => {
  it('finds rows of a contact before its first event, and resolves its id after a merge', async () => {
    const account = randomUUID();
    const [early, survivor] = ids(2) as [string, string];
    const idsOf = async (id: string) =>
      (await sql<{ id: string }[]>`${idsOfContact(sql, account, id)}`).map((row) => row.id).sort();
    expect(await idsOf(early)).toEqual([early]);
    await keep(
      change(account, early, 1),
      change(account, survivor, 2),
      change(account, early, 3, { merged_into: survivor }),
    );
    expect(await idsOf(early)).toEqual([early, survivor].sort());
    expect(await idsOf(survivor)).toEqual([early, survivor].sort());
  });

  const [a, b, c, d, e] = ids(5) as [string, string, string, string, string];
  it.each<[string, (account: string) => ContactChange[], Record<string, string[]>, Record<string, object>]>([
    [
      'changes, merges and a deletion',
      (account) => [
        change(account, a, 1),
        change(account, b, 2),
        change(account, a, 3, { merged_into: b }),
        change(account, b, 3),
        change(account, b, 4, { merged_into: c }),
        change(account, c, 4),
        change(account, e, 5, { merged_into: c }),
        change(account, c, 5),
        change(account, c, 6, { merged_into: d }),
        change(account, d, 6),
        change(account, d, 7, { deleted: true }),
      ],
      { [d]: [a, b, c, d, e] },
      { [d]: { name: 'after 7', phone: '', deleted: true } },
    ],
    [
      'merges, their undoing and later changes',
      (account) => [
        ...[a, b, c, d].map((id, index) => change(account, id, index + 1)),
        change(account, a, 5, { merged_into: b }),
        change(account, b, 6, { merged_into: c }),
        change(account, c, 7, { merged_into: d }),
        change(account, c, 8, { merged_into: null }),
        change(account, d, 8),
        change(account, b, 9, { merged_into: null }),
        change(account, b, 10, { name: 'renamed' }),
        change(account, c, 11, { merged_into: b }),
      ],
      { [b]: [a, b, c], [d]: [d] },
      { [b]: { name: 'renamed' }, [d]: { name: 'after 8' } },
    ],
  ])('ends in the same state for any order and batches: %s', async (_what, story, owners, values) => {
    for (const tell of deliveryOrders) {
      const account = randomUUID();
      for (const batch of tell(story(account))) await keep(...batch);
      for (const [owner, merged] of Object.entries(owners))
        for (const id of merged)
          expect(await knownContact(sql, account, id)).toMatchObject({ id: owner, ...values[owner] });
    }
  });

  it('ends in the same state for every order of changes that merge, undo and reversely merge a chain', async () => {
    const story = (account: string) => [
      change(account, a, 1, { merged_into: b }),
      change(account, b, 2, { merged_into: c }),
      change(account, b, 3, { merged_into: null }),
      change(account, a, 4, { merged_into: null }),
      change(account, b, 5, { merged_into: a }),
    ];
    for (const order of permutations([0, 1, 2, 3, 4])) {
      const account = randomUUID();
      for (const index of order) await keep(story(account)[index]!);
      const seen = [];
      for (const id of [a, b]) seen.push((await knownContact(sql, account, id))!.id);
      expect([order, seen]).toEqual([order, [a, a]]);
    }
  });

  it('without recorded direct survivors still restores each contact of a later undo', async () => {
    const account = randomUUID();
    await keep(...[a, b, c, d].map((id) => change(account, id, 1)));
    await sql`update contacts set merged_into = ${b} where account_id = ${account} and id = ${a}`;
    await keep(change(account, b, 5, { merged_into: c }));
    await keep(change(account, c, 6, { merged_into: d }));
    expect(await knownContact(sql, account, a)).toMatchObject({ id: d });
    await keep(change(account, c, 7, { merged_into: null }));
    for (const id of [a, b]) expect(await knownContact(sql, account, id)).toMatchObject({ id: c });
    await keep(change(account, b, 8, { merged_into: null }));
    expect(await knownContact(sql, account, a)).toMatchObject({ id: b });
  });

  it('of a requested contact has its chain of survivors, so that an undo applies to it', async () => {
    const account = randomUUID();
    const [asked, between, survivor, old] = ids(4) as [string, string, string, string];
    const reply = { id: survivor, name: 'Survivor', phone: '' };
    await inTransaction(sql, (tx) => insertReply(tx, account, [asked, between], reply));
    expect(await knownContact(sql, account, asked)).toMatchObject({ id: survivor });
    await keep(change(account, between, 9, { merged_into: null }), change(account, survivor, 9));
    expect(await knownContact(sql, account, asked)).toMatchObject({ id: between, name: 'after 9' });
    // A reply from before the undoing that arrives after it.
    const late = randomUUID();
    await inTransaction(sql, (tx) => insertReply(tx, account, [late, between], reply));
    expect(await knownContact(sql, account, late)).toMatchObject({ id: between });
    await keep(change(account, survivor, 10, { merged_into: between }));
    await inTransaction(sql, (tx) => insertReply(tx, account, [old], reply));
    expect(await knownContact(sql, account, old)).toMatchObject({ id: between, name: 'after 9' });
  });

  it('assigns to a survivor rows from between merge and undo, of the restored contact and those merged into it by then', async () => {
    const account = randomUUID();
    await keep(
      change(account, b, 1, { merged_into: a }),
      change(account, c, 2, { merged_into: b }),
      // The merge is undone with sequence 10.
      change(account, a, 9, { merged_into: null }),
      change(account, d, 11, { merged_into: a }),
    );
    await sql`create table made (account_id uuid, id uuid, contact_id uuid, created_at timestamptz)`;
    const day = (number: number) => `2026-03-0${number}T12:00:00.000Z`;
    for (const contact of [a, b, c, d, e])
      for (const number of [1, 3, 5])
        await sql`insert into made values (${account}, gen_random_uuid(), ${contact}, ${day(number)})`;
    const data = { survivor: e, restored: a, merged_at: day(2) };
    const event = { account, sequence: 10, timestamp: day(4), data };
    await inTransaction(sql, (tx) => assignToSurvivor(tx, 'made', event as Parameters<typeof assignToSurvivor>[2]));
    const rows = await sql<{ contact_id: string; days: number[] }[]>`
      select contact_id, array_agg(extract(day from created_at at time zone 'UTC')::int order by created_at) as days
      from made group by contact_id`;
    expect(Object.fromEntries(rows.map(({ contact_id, days }) => [contact_id, days]))).toEqual({
      ...Object.fromEntries([a, b, c].map((id) => [id, [1, 5]])),
      [d]: [1, 3, 5],
      [e]: [1, 3, 3, 3, 3, 5],
    });
  });

  it('accepts concurrent writers with different orders of contacts', async () => {
    const account = randomUUID();
    const people = ids(40);
    const batches = Array.from({ length: 40 }, (_, round) => {
      const changes = people.map((id, index) => {
        return change(account, id, round + 1, { merged_into: index < round ? people[index + 1]! : undefined });
      });
      return round % 2 ? changes : changes.reverse();
    });
    const asked = people.map((id, index) =>
      inTransaction(sql, (tx) =>
        insertReply(tx, account, [id], { id: people[Math.min(index + 3, 39)]!, name: '', phone: '' }),
      ),
    );
    await Promise.all([...batches.map((batch) => keep(...batch)), ...asked]);
    const stand = await Promise.all(people.map((id) => knownContact(sql, account, id)));
    expect(new Set(stand.map((known) => known!.id))).toEqual(new Set([people[39]]));
  });

  it('is not blocked by another service that has locked the same account', async () => {
    const account = randomUUID();
    const [one, other] = ids(2) as [string, string];
    await inTransaction(sql, async (tx) => {
      await upsertContacts(tx, [change(account, one, 1)]);
      const ofOther = platform.database('catalogue');
      await inTransaction(ofOther, (theirs) => upsertContacts(theirs, [change(account, other, 1)]));
      expect(await ofOther`select id from contacts where account_id = ${account}`).toEqual([{ id: other }]);
    });
  });
});

/** Returns all orders of the items. */
function permutations<Item>(items: readonly Item[]): Item[][] {
  if (items.length === 0) return [[]];
  return items.flatMap((item, index) => permutations(items.toSpliced(index, 1)).map((rest) => [item, ...rest]));
}

it('is the table of the README in every service that has it', () => {
  const readme = readFileSync(join(import.meta.dirname, '../README.md'), 'utf8');
  const blocks = [...readme.matchAll(/```sql\n([^`]+)```/g)].map(([, block]) => block!);
  expect(blocks).toHaveLength(3);
  const services = join(import.meta.dirname, '../../../services');
  const texts = new Map<string, string>();
  for (const file of globSync('*/migrations/*.sql', { cwd: services })) {
    const service = file.slice(0, file.indexOf('/'));
    texts.set(service, `${texts.get(service) ?? ''}${readFileSync(join(services, file), 'utf8')}`);
  }
  const copies = [...texts].filter(([service, text]) => /create table contacts\b/.test(text) && service !== 'cdp');
  expect(copies.length).toBeGreaterThanOrEqual(5);
  for (const [service, text] of copies)
    for (const block of blocks) expect([service, text]).toEqual([service, expect.stringContaining(block)]);
});
