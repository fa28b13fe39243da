import type { Sql } from '@customer-platform/service-kit';
import { inTransaction } from '@customer-platform/service-kit';
import { startPlatform, waitFor } from '@customer-platform/testkit';
import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type Desk, emailOf, insertAppointments, invalid, openDesk } from '../../test/calendar.ts';

const platform = await startPlatform({ services: ['cdp', 'calendar'] });
const sql = platform.database('calendar');
platform.clock.set('2026-06-01T08:00:00+02:00');
afterAll(() => platform.stop());

let desk: Desk;
beforeEach(async () => {
  desk = await openDesk(platform);
});

const path = '/v1/calendar/booking-types';
const remove = (id: number) => desk.account.request('DELETE', `${path}/${id}`);
const startsAt = '2026-06-02T09:00:00+02:00';

/** Selects appointments whose booking type does not exist. */
const orphans = () => sql`
  select from appointments a where not exists (
    select from booking_types b where b.account_id = a.account_id and b.id = a.booking_type_id)`;

/** Runs `first` in a transaction that ends with `end` once `second` waits for it or has ended. Returns the result of `second`. */
async function interleaved<Result>(
  first: (tx: Sql) => Promise<unknown>,
  second: () => Promise<Result>,
  end: 'commit' | 'rollback' = 'commit',
): Promise<Result> {
  let later: Promise<Result> | undefined;
  const transaction = inTransaction(sql, async (tx) => {
    await first(tx);
    let hasEnded = false;
    later = second().finally(() => {
      hasEnded = true;
    });
    await waitFor('the second to wait or to end', async () => {
      if (hasEnded) return true;
      const waiting = await sql`
        select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
      return waiting.length > 0;
    });
    if (end === 'rollback') throw new Error('rolled back');
  });
  await transaction.catch((error: Error) => {
    if (error.message !== 'rolled back') throw error;
  });
  return await later!;
}

/** Books like the operation, without a response. */
const bookIn = (tx: Sql) => insertAppointments(tx, desk, [{ startsAt, endsAt: '2026-06-02T09:30:00+02:00' }]);
const deleteIn = (tx: Sql) => tx`
  delete from booking_types where account_id = ${desk.account.id} and id = ${desk.bookingType}`;

describe('a booking type that is deleted during a booking', () => {
  it('is switched off and kept if the booking came first', async () => {
    expect((await interleaved(bookIn, () => remove(desk.bookingType))).status).toBe(204);
    expect(await desk.get(`${path}/${desk.bookingType}`)).toMatchObject({ active: false });
    expect(await orphans()).toHaveLength(0);
  });

  it('is deleted if the booking is rolled back', async () => {
    expect((await interleaved(bookIn, () => remove(desk.bookingType), 'rollback')).status).toBe(204);
    expect((await desk.account.request('GET', `${path}/${desk.bookingType}`)).status).toBe(404);
  });

  it('can no longer be booked if the deletion came first', async () => {
    const response = await interleaved(deleteIn, () => desk.book(startsAt));
    expect(response).toMatchObject(invalid('booking_type'));
    expect(await orphans()).toHaveLength(0);
  });

  it('is booked if the deletion is rolled back', async () => {
    expect((await interleaved(deleteIn, () => desk.book(startsAt), 'rollback')).status).toBe(201);
  });

  it('does not block bookings while it is changed', async () => {
    const change = (tx: Sql) => tx`
      select from booking_types where account_id = ${desk.account.id} and id = ${desk.bookingType} for no key update`;
    let hasBooked = false;
    await inTransaction(sql, async (tx) => {
      await change(tx);
      hasBooked = (await desk.book(startsAt)).status === 201;
    });
    expect(hasBooked).toBe(true);
  });

  it('either keeps its appointment or is deleted without one, in many races', async () => {
    const names = Array.from({ length: 30 }, (_, index) => `Type ${index}`);
    const types = await Promise.all(
      names.map((name) =>
        desk.post(path, { name, duration_minutes: 5, slot_interval_minutes: 5, staff: [emailOf('ada')] }),
      ),
    );
    const outcomes = await Promise.all(
      types.map(async ({ id }, index) => {
        const starts_at = new Date(Date.parse(startsAt) + index * 300_000).toISOString();
        const book = () => desk.book(starts_at, { booking_type: id });
        const both = index % 2 ? [remove(id), book()] : [book(), remove(id)];
        const responses = await Promise.all(both);
        const [removed, booked] = index % 2 ? responses : responses.reverse();
        return { id, removed: removed!.status, booked: booked!.status };
      }),
    );
    for (const { id, removed, booked } of outcomes) {
      const kept = (await desk.account.request('GET', `${path}/${id}`)).status;
      expect([201, 400]).toContain(booked);
      expect({ removed, kept }).toEqual({ removed: 204, kept: booked === 201 ? 200 : 404 });
    }
    expect(await orphans()).toHaveLength(0);
  });
});
