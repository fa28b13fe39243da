import { randomUUID } from 'node:crypto';
import { openDatabase } from '@customer-platform/service-kit';
import { startPlatform } from '@customer-platform/testkit';
import { afterAll, describe, expect, it } from '@jest/globals';
import { emailOf, openDesk, refusal } from '../../test/calendar.ts';
import { databaseAsOf, migrateOn } from '../../test/own-database.ts';

const platform = await startPlatform({ services: ['cdp', 'calendar'] });
platform.clock.set('2026-06-01T08:00:00Z');
afterAll(() => platform.stop());

const at = (time: string) => `2026-06-02T${time}:00+02:00`;

describe('an appointment that is completed before its end', () => {
  /** A desk that is open for one hour, with an appointment at 9 that was completed the day before. */
  async function completed(bookingType: Record<string, unknown> = {}) {
    const hours = { tue: [['09:00', '10:00']] };
    const desk = await openDesk(platform, { staff: { ada: { hours } }, bookingType });
    const { body } = await desk.book(at('09:00'));
    await desk.post(`/v1/calendar/appointments/${body.id}/complete`);
    return { desk, id: body.id as string, window: { from: '2026-06-02', to: '2026-06-03' } };
  }

  it('keeps its time: not listed, explained as taken, and unavailable for bookings and moves', async () => {
    const { desk, id, window } = await completed();
    expect(await desk.starts(window)).toEqual([at('09:30')]);
    const query = new URLSearchParams({ booking_type: String(desk.bookingType), starts_at: at('09:00') });
    expect(await desk.get(`/v1/calendar/free-times/explain?${query}`)).toEqual({
      free: false,
      reasons: [{ staff: emailOf('ada'), code: 'taken' }],
    });
    expect(await desk.book(at('09:00'))).toMatchObject(refusal(409, 'slot_taken'));
    const other = await desk.book(at('09:30'));
    expect(other.status).toBe(201);
    const move = { body: { starts_at: at('09:00') } };
    expect(
      await desk.account.request('POST', `/v1/calendar/appointments/${other.body.id}/reschedule`, move),
    ).toMatchObject(refusal(409, 'slot_taken'));
    expect((await desk.get(`/v1/calendar/appointments/${id}`)).status).toBe('completed');
  });

  it('keeps its preparation time too, and allows adjacent appointments', async () => {
    const { desk, window } = await completed({ duration_minutes: 15, prep_minutes: 15 });
    expect(await desk.starts(window)).toEqual([at('09:30'), at('09:45')]);
    expect(await desk.book(at('09:15'))).toMatchObject(refusal(409, 'slot_taken'));
    expect((await desk.book(at('09:30'))).status).toBe(201);
  });

  it('is protected against overlaps by PostgreSQL', async () => {
    const { desk } = await completed();
    const sql = platform.database('calendar');
    const again = sql`
      insert into appointments (account_id, booking_type_id, title, status, contact_id, staff_id, blocked_from, starts_at, ends_at, mode,
        location, meeting_link, notes, source, created_at, updated_at)
      select account_id, booking_type_id, title, 'requested', contact_id, staff_id, blocked_from, starts_at, ends_at, mode,
        location, meeting_link, notes, source, created_at, updated_at
      from appointments where account_id = ${desk.account.id} on conflict do nothing returning id`;
    expect(await again).toEqual([]);
  });
});

describe('existing completed appointments', () => {
  it('hold their time after the migration, except those that overlap another one', async () => {
    const url = await databaseAsOf('0013');
    const sql = openDatabase(url, { pool: 2, service: 'calendar' });
    const account = randomUUID();
    const [type] = await sql<{ id: number }[]>`
      insert into booking_types (account_id, name, active, duration_minutes, prep_minutes, slot_interval_minutes, min_notice_minutes,
        window_days, mode, location, meeting_link, staff_ids, default_staff_id, reminders)
      values (${account}, 'x', true, 30, 0, 30, 0, 60, 'online', '', '', '{}', null, '[]') returning id`;
    const insert = (teammate: number, status: string, from: string, to: string, day = '2099-06-02') => sql`
      insert into appointments (account_id, booking_type_id, title, status, contact_id, staff_id, blocked_from, starts_at, ends_at, mode,
        location, meeting_link, notes, source, created_at, updated_at)
      select ${account}, ${type!.id}, ${`${teammate} ${status} ${from}`}, ${status}, ${account}, ${teammate}, s, s, e, 'online', '', '', '',
        'api', now(), now()
      from (values (${`${day}T${from}Z`}::timestamptz, ${`${day}T${to}Z`}::timestamptz)) as time (s, e)
      on conflict do nothing returning id`;
    try {
      await insert(1, 'completed', '09:00', '12:00');
      await insert(1, 'confirmed', '09:30', '10:00');
      await insert(1, 'requested', '11:00', '11:30');
      await insert(1, 'completed', '12:00', '12:30'); // adjacent to the first
      await insert(1, 'completed', '13:00', '14:00');
      await insert(1, 'completed', '13:00', '14:00');
      await insert(1, 'cancelled', '15:00', '16:00');
      await insert(1, 'completed', '15:00', '16:00');
      await insert(2, 'completed', '09:30', '10:00'); // of another teammate
      await insert(4, 'confirmed', '09:00', '10:00');
      for (const status of ['completed', 'completed', 'confirmed'])
        await insert(3, status, '09:00', '10:00', '2020-01-01');
      await migrateOn(url);
      const without = await sql<{ title: string }[]>`
        select title from appointments
        where account_id = ${account} and status = 'completed' and holds_time is null and ends_at > now() order by title`;
      expect(without.map(({ title }) => title)).toEqual([
        '1 completed 09:00',
        '1 completed 13:00',
        '1 completed 13:00',
      ]);
      // Rows that hold no time can be changed and booked over.
      await sql`update appointments set notes = 'x' where account_id = ${account}`;
      // Existing appointments hold their time once they are completed, even if they were booked over a completed one.
      await sql`update appointments set status = 'completed' where account_id = ${account} and status = 'confirmed' and starts_at > now()`;
      expect(await insert(1, 'confirmed', '13:00', '13:30')).toHaveLength(1);
      for (const [teammate, from, to] of [
        [1, '12:15', '12:45'],
        [1, '15:30', '15:45'],
        [1, '09:45', '10:15'],
        [2, '09:00', '10:00'],
        [4, '09:30', '10:30'],
      ] as const)
        expect([from, await insert(teammate, 'confirmed', from, to)]).toEqual([from, []]);
      const moved = sql`
        update appointments set staff_id = 2, blocked_from = '2099-06-02T09:45Z', starts_at = '2099-06-02T09:45Z', ends_at = '2099-06-02T10:15Z'
        where account_id = ${account} and staff_id = 3 and status = 'confirmed'`;
      await expect(moved).rejects.toMatchObject({ constraint_name: 'appointments_no_overlap' });
    } finally {
      await sql.end();
    }
  });
});
