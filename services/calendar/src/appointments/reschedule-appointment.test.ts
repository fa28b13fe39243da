import { startPlatform } from '@customer-platform/testkit';
import { afterAll, describe, expect, it } from '@jest/globals';
import { type Desk, emailOf, invalid, openDesk, refusal } from '../../test/calendar.ts';

const platform = await startPlatform({ services: ['cdp', 'calendar'] });
platform.clock.set('2026-06-01T08:00:00Z');
afterAll(() => platform.stop());

const tuesday = (time: string) => `2026-06-02T${time}:00+02:00`;
const move = (desk: Desk, id: string, body: unknown) =>
  desk.account.request('POST', `/v1/calendar/appointments/${id}/reschedule`, { body });

describe('rescheduling an appointment', () => {
  it('moves it, emits the old and the new time, and frees the old one', async () => {
    const desk = await openDesk(platform);
    const { body: booked } = await desk.book(tuesday('09:00'), { status: 'requested' });
    const moved = await move(desk, booked.id, { starts_at: tuesday('14:00') });
    expect(moved).toMatchObject({
      status: 200,
      body: { id: booked.id, status: 'requested', starts_at: tuesday('14:00'), ends_at: tuesday('14:30') },
    });
    const { history, ...shown } = await desk.get(`/v1/calendar/appointments/${booked.id}`);
    expect(shown).toEqual(moved.body);
    expect(history.at(-1)).toEqual({
      kind: 'rescheduled',
      summary: `Moved from ${tuesday('09:00')} with Ada to ${tuesday('14:00')} with Ada`,
      at: moved.body.updated_at,
    });
    const event = await platform.event(desk.account.id, 'appointment.rescheduled');
    expect(event.data).toEqual({
      appointment: { ...moved.body, history },
      previous: { starts_at: tuesday('09:00'), ends_at: tuesday('09:30') },
    });
    expect((await desk.book(tuesday('09:00'))).status).toBe(201);
  });

  it('keeps duration and prep, and its own time does not block it', async () => {
    const desk = await openDesk(platform, { bookingType: { duration_minutes: 60, prep_minutes: 30 } });
    const { body: booked } = await desk.book(tuesday('10:00'));
    await desk.patch(`/v1/calendar/booking-types/${desk.bookingType}`, { duration_minutes: 15, prep_minutes: 0 });
    const moved = await move(desk, booked.id, { starts_at: tuesday('10:30') });
    expect(moved.body).toMatchObject({ starts_at: tuesday('10:30'), ends_at: tuesday('11:30') });
    const around = await Promise.all([desk.book(tuesday('10:00')), desk.book(tuesday('09:30'))]);
    expect(around.map(({ status }) => status)).toEqual([409, 201]);
  });

  it('succeeds for exactly the times listed with `exclude`', async () => {
    const desk = await openDesk(platform, { bookingType: { duration_minutes: 60, slot_interval_minutes: 30 } });
    const { body: booked } = await desk.book(tuesday('09:00'));
    await desk.book(tuesday('12:00'));
    await desk.patch(`/v1/calendar/booking-types/${desk.bookingType}`, { duration_minutes: 30 });
    for (let hour = 9; hour < 18; hour += 1) {
      for (const minute of ['00', '15', '30']) {
        const window = { from: '2026-06-02', to: '2026-06-03', exclude: booked.id };
        const startsAt = tuesday(`${String(hour).padStart(2, '0')}:${minute}`);
        const isListed = (await desk.starts(window)).includes(startsAt);
        const { status } = await move(desk, booked.id, { starts_at: startsAt });
        expect([startsAt, status]).toEqual([startsAt, isListed ? 200 : 409]);
      }
    }
    const { history } = await desk.get(`/v1/calendar/appointments/${booked.id}`);
    expect(history).toHaveLength(12); // booked, then moved to eleven other times
  });

  it('hands it to another teammate, who must take the booking type', async () => {
    const desk = await openDesk(platform, { staff: { ada: {}, bob: {} } });
    const { body: booked } = await desk.book(tuesday('09:00'), { staff: emailOf('ada') });
    const handed = await move(desk, booked.id, { starts_at: tuesday('09:00'), staff: emailOf('bob') });
    expect(handed.body.staff).toEqual({ name: 'Bob', email: emailOf('bob') });
    const event = await platform.event(desk.account.id, 'appointment.rescheduled');
    expect(event.data.previous).toEqual({ staff: { name: 'Ada', email: emailOf('ada') } });
    const refuseOthers = async () => {
      for (const staff of ['stranger@desk.example', 'no address']) {
        const refused = await move(desk, booked.id, { starts_at: tuesday('10:00'), staff });
        expect(refused).toMatchObject(invalid('staff'));
      }
    };
    await refuseOthers();
    // The request body is checked before the status.
    await desk.post(`/v1/calendar/appointments/${booked.id}/cancel`);
    await refuseOthers();
  });

  it('to its own time and teammate changes nothing', async () => {
    const desk = await openDesk(platform);
    const { body: booked } = await desk.book(tuesday('09:00'));
    platform.clock.advance(1_000);
    expect((await move(desk, booked.id, { starts_at: '2026-06-02T07:00:00Z', staff: emailOf('ada') })).body).toEqual(
      booked,
    );
    expect((await desk.get(`/v1/calendar/appointments/${booked.id}`)).history).toHaveLength(1);
  });

  it('is possible while appointments are off and the booking type is switched off', async () => {
    const desk = await openDesk(platform);
    const { body: booked } = await desk.book(tuesday('09:00'));
    await desk.patch('/v1/calendar/settings', { enabled: false });
    expect((await desk.account.request('DELETE', `/v1/calendar/booking-types/${desk.bookingType}`)).status).toBe(204);
    expect((await move(desk, booked.id, { starts_at: tuesday('10:00') })).status).toBe(200);
  });

  it('is rejected for a time that is not free or lacks an offset, and after the appointment has ended', async () => {
    const desk = await openDesk(platform);
    const { body: booked } = await desk.book(tuesday('09:00'));
    await desk.book(tuesday('10:00'));
    for (const time of ['10:00', '10:10', '17:00']) {
      const refused = await move(desk, booked.id, { starts_at: tuesday(time) });
      expect(refused).toMatchObject(refusal(409, 'slot_taken'));
    }
    for (const starts_at of [undefined, '2026-06-02T11:00:00', 'soon']) {
      const refused = await move(desk, booked.id, { starts_at });
      expect(refused).toMatchObject(invalid('starts_at'));
    }
    await desk.post(`/v1/calendar/appointments/${booked.id}/cancel`);
    const ended = await move(desk, booked.id, { starts_at: tuesday('11:00') });
    expect(ended).toMatchObject(refusal(409, 'invalid_state'));
  });

  it('never holds a time twice during concurrent moves and bookings to the same times', async () => {
    const staff = { ada: {}, bob: {} };
    const desk = await openDesk(platform, { staff, bookingType: { slot_interval_minutes: 30 } });
    const time = (index: number) => tuesday(`${9 + Math.floor(index / 2)}:${index % 2 ? '30' : '00'}`.padStart(5, '0'));
    const booked = await Promise.all(Array.from({ length: 10 }, (_, index) => desk.book(time(Math.floor(index / 2)))));
    expect(booked.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 201));
    const wanted = Array.from({ length: 60 }, (_, index) => {
      const starts_at = time(6 + (index % 3));
      const to = emailOf(index % 2 ? 'ada' : 'bob');
      if (index % 5 === 0) return desk.book(starts_at, { staff: to });
      return move(desk, booked[index % 10]!.body.id, { starts_at, staff: to });
    });
    const outcomes = await Promise.all(wanted);
    expect(outcomes.map(({ status }) => status).filter((status) => ![200, 201, 409].includes(status))).toEqual([]);
    const { data } = await desk.get('/v1/calendar/appointments?limit=100');
    const held = data.map(
      (row: { staff: { email: string }; starts_at: string }) => `${row.staff.email} ${row.starts_at}`,
    );
    expect(new Set(held).size).toBe(held.length);
    expect(data.filter((row: { starts_at: string }) => row.starts_at >= time(6))).toHaveLength(6);
  });
});
