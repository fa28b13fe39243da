import { allAccounts, batchOf, inTransaction, RowFinder } from '@customer-platform/service-kit';
import { type Platform, startPlatform } from '@customer-platform/testkit';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type Desk, openDesk } from '../../test/calendar.ts';
import { dueReminders, takeDueReminders } from './due-reminders.sql.ts';

let platform: Platform;
beforeAll(async () => {
  platform = await startPlatform({ services: ['cdp', 'calendar'] });
  platform.clock.set('2026-06-01T08:00:00Z');
}, 60_000);
afterAll(() => platform.stop());
beforeEach(() => platform.database('calendar')`truncate reminders`);

/** Due only for these tests: the service's own clock is years behind. */
const dueAt = new Date('2030-01-01T00:00:00Z');
const mebibyte = 1_048_576;

/** Books an appointment with a history of `bytes` bytes and a number of due reminders; returns its account. */
async function bookLarge({ bytes, reminders }: { bytes: number; reminders: number }): Promise<string> {
  const desk: Desk = await openDesk(platform, { bookingType: { reminders: [] } });
  const { id } = (await desk.book('2026-06-04T09:00:00+02:00')).body;
  const sql = platform.database('calendar');
  const account = desk.account.id;
  await sql`
    insert into appointment_history (account_id, appointment_id, kind, summary, at)
    values (${account}, ${id}, 'edited', ${'x'.repeat(bytes)}, now())`;
  await sql`
    insert into reminders (account_id, appointment_id, channel, minutes_before, due_at)
    select ${account}, ${id}, 'sms', 60, ${dueAt} from generate_series(1, ${reminders})`;
  return account;
}

/** Takes a batch like the job; returns the accounts of its reminders and the bytes of their histories. */
async function take(finder: RowFinder) {
  return await inTransaction(platform.database('calendar'), async (sql) => {
    const turn = { sql, now: new Date('2031-01-01T00:00:00Z'), scope: allAccounts, room: batchOf(200) };
    const { rows, hasMore } = await finder.take(turn, (due) => takeDueReminders(sql, due));
    const bytes = Buffer.byteLength(JSON.stringify(rows.map(({ history }) => history)));
    return { accounts: rows.map(({ account_id }) => account_id), bytes, hasMore };
  });
}

describe('due reminders', () => {
  it('are read with at most 4 MiB of histories at once, first those of every account, and all eventually', async () => {
    const many = await bookLarge({ bytes: mebibyte / 4, reminders: 40 });
    const one = await bookLarge({ bytes: 100, reminders: 1 });
    const batches = new RowFinder(dueReminders);
    const first = await take(batches);
    expect(first.bytes).toBeLessThan(4.2 * mebibyte);
    expect(first.bytes).toBeGreaterThan(3 * mebibyte);
    expect(first.accounts.filter((account) => account === one)).toHaveLength(1);
    const taken = [...first.accounts];
    for (let batch = first; batch.hasMore; taken.push(...batch.accounts)) batch = await take(batches);
    expect(taken.filter((account) => account === many)).toHaveLength(40);
    expect(taken).toHaveLength(41);
  });

  it('of the account after the end of a batch are in the next batch', async () => {
    const accounts = [];
    for (let count = 0; count < 3; count++) accounts.push(await bookLarge({ bytes: 3 * mebibyte, reminders: 3 }));
    accounts.sort();
    const batches = new RowFinder(dueReminders);
    // The longest due ones and those of the next accounts alternate.
    const taken = [];
    for (let count = 0; count < 6; count++) taken.push((await take(batches)).accounts);
    expect(taken).toEqual(
      [accounts[0], accounts[0], accounts[0], accounts[1], accounts[1], accounts[2]].map((id) => [id]),
    );
  });

  it('are taken one at a time if a history exceeds that', async () => {
    const large = await bookLarge({ bytes: 5 * mebibyte, reminders: 2 });
    const batches = new RowFinder(dueReminders);
    expect((await take(batches)).accounts).toEqual([large]);
    expect((await take(batches)).accounts).toEqual([large]);
    expect((await take(batches)).accounts).toEqual([]);
  });
});
