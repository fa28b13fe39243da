import { randomUUID } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Database, inTransaction } from '@customer-platform/service-kit';
import { type Platform, startPlatform } from '@customer-platform/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type ContactChange, insertAskedContact, keepContacts, knownContact } from './contacts.sql.ts';

let platform: Platform;
let sql: Database;
beforeAll(async () => {
  platform = await startPlatform({ services: ['crm'] });
  sql = platform.database('crm');
}, 60_000);
afterAll(() => platform.stop());

const change = (account_id: string, id: string, sequence: number, values: Partial<ContactChange> = {}) => {
  const said = { name: `after ${sequence}`, phone: '', merged_into: null, deleted: false };
  return { account_id, id, sequence, ...said, ...values };
};
const keep = (...changes: ContactChange[]) => inTransaction(sql, (tx) => keepContacts(tx, changes));
const ids = (count: number) => Array.from({ length: count }, () => randomUUID() as string);

describe('the copy', () => {
  it('ends the same in whatever order changes come, and however they are cut into batches', async () => {
    const [a, b, c, d, e] = ids(5) as [string, string, string, string, string];
    const story = (account: string) => [
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
    ];
    const tellings: ((told: ContactChange[]) => ContactChange[][])[] = [
      (told) => [told],
      (told) => [told.toReversed()],
      (told) => told.map((one) => [one]),
      (told) => told.toReversed().map((one) => [one]),
      (told) => [told.filter((_, index) => index % 2 === 1), told.filter((_, index) => index % 2 === 0)],
      (told) => [...told, ...told].map((one) => [one]),
    ];
    for (const tell of tellings) {
      const account = randomUUID();
      for (const batch of tell(story(account))) await keep(...batch);
      for (const id of [a, b, c, d, e])
        expect(await knownContact(sql, account, id)).toEqual({ id: d, name: 'after 7', phone: '', deleted: true });
    }
  });

  it('is written by many at once, each with the contacts in another order, without one of them failing', async () => {
    const account = randomUUID();
    const people = ids(40);
    const batches = Array.from({ length: 40 }, (_, round) => {
      const told = people.map((id, index) => {
        return change(account, id, round + 1, { merged_into: index < round ? people[index + 1]! : null });
      });
      return round % 2 ? told : told.reverse();
    });
    const asked = people.map((id, index) =>
      inTransaction(sql, (tx) =>
        insertAskedContact(tx, account, id, { id: people[Math.min(index + 3, 39)]!, name: '', phone: '' }),
      ),
    );
    await Promise.all([...batches.map((batch) => keep(...batch)), ...asked]);
    const stand = await Promise.all(people.map((id) => knownContact(sql, account, id)));
    expect(new Set(stand.map((known) => known!.id))).toEqual(new Set([people[39]]));
  });

  it('of an asked contact names who it was merged into since', async () => {
    const account = randomUUID();
    const [old, replied, survivor] = ids(3) as [string, string, string];
    await keep(change(account, survivor, 9), change(account, replied, 9, { merged_into: survivor }));
    await inTransaction(sql, (tx) => insertAskedContact(tx, account, old, { id: replied, name: 'Then', phone: '' }));
    expect(await knownContact(sql, account, old)).toMatchObject({ id: survivor, name: 'after 9' });
  });
});

it('is the same table in every service that has it: the one that the README shows', () => {
  const [, table] = /```sql\n([^`]+)```/.exec(readFileSync(join(import.meta.dirname, '../README.md'), 'utf8'))!;
  const services = join(import.meta.dirname, '../../../services');
  const migrations = globSync('*/migrations/*.sql', { cwd: services })
    .map((file) => [file, readFileSync(join(services, file), 'utf8')] as const)
    .filter(([file, text]) => /create table contacts\b/.test(text) && !file.startsWith('cdp/'));
  expect(migrations.length).toBeGreaterThanOrEqual(5);
  for (const [file, text] of migrations) expect([file, text]).toEqual([file, expect.stringContaining(table!)]);
});
