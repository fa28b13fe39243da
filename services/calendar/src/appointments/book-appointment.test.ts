import { startPlatform, waitFor } from '@customer-platform/testkit';
import { afterAll, describe, expect, it } from '@jest/globals';
import { addMember, emailOf, invalid, openDesk, refusal } from '../../test/calendar.ts';

const platform = await startPlatform({ services: ['cdp', 'calendar'] });
platform.clock.set('2026-06-01T08:00:00Z');
afterAll(() => platform.stop());

const tuesday = (time: string) => `2026-06-02T${time}:00+02:00`;

describe('booking an appointment', () => {
  it('returns it, shows it with its history and emits appointment.booked', async () => {
    const desk = await openDesk(platform, { bookingType: { meeting_link: 'https://meet.example/1' } });
    const booked = await desk.book(tuesday('09:00'), { notes: 'first visit' });
    expect(booked).toMatchObject({
      status: 201,
      body: {
        title: 'Consultation',
        status: 'confirmed',
        booking_type: { id: desk.bookingType, name: 'Consultation' },
        contact: { id: desk.contact.id, name: 'Carla Client', phone: '+4930901820' },
        staff: { name: 'Ada', email: 'ada@desk.example' },
        starts_at: tuesday('09:00'),
        ends_at: tuesday('09:30'),
        mode: 'online',
        location: '',
        meeting_link: 'https://meet.example/1',
        notes: 'first visit',
        source: 'api',
        deal: null,
      },
    });
    expect(booked.body).not.toHaveProperty('history');
    const { history, ...shown } = await desk.get(`/v1/calendar/appointments/${booked.body.id}`);
    expect(shown).toEqual(booked.body);
    expect(history).toEqual([{ kind: 'booked', summary: expect.stringContaining('Ada'), at: booked.body.created_at }]);
    const event = await platform.event(desk.account.id, 'appointment.booked');
    expect(event.data).toEqual({ appointment: { ...booked.body, history } });
  });

  it('gives a time to one of 200 concurrent requests, and slot_taken to all others', async () => {
    const desk = await openDesk(platform);
    const responses = await Promise.all(Array.from({ length: 200 }, () => desk.book(tuesday('10:00'))));
    expect(responses.filter(({ status }) => status === 201)).toHaveLength(1);
    const refused = responses.filter(({ status }) => status !== 201);
    expect(new Set(refused.map(({ status, body }) => `${status} ${body.error?.code}`))).toEqual(
      new Set(['409 slot_taken']),
    );
  });

  it('without staff books the first free teammate, preferring the default one', async () => {
    const staff = { ada: {}, bob: {}, cleo: {} };
    const desk = await openDesk(platform, { staff, bookingType: { default_staff: emailOf('bob') } });
    const responses = await Promise.all(Array.from({ length: 20 }, () => desk.book(tuesday('09:00'))));
    const booked = responses.filter(({ status }) => status === 201).map(({ body }) => body.staff.email);
    expect(booked.sort()).toEqual([emailOf('ada'), emailOf('bob'), emailOf('cleo')]);
    const next = [
      await desk.book(tuesday('11:00')),
      await desk.book(tuesday('11:00')),
      await desk.book(tuesday('11:00')),
    ];
    expect(next.map(({ body }) => body.staff.name)).toEqual(['Bob', 'Ada', 'Cleo']);
  });

  it('allows adjacent appointments, and keeps prep free before the start only', async () => {
    const desk = await openDesk(platform, { bookingType: { prep_minutes: 15, slot_interval_minutes: 15 } });
    expect((await desk.book(tuesday('12:00'))).status).toBe(201);
    const tried: [string, number][] = [
      ['11:30', 409], // would end at 12:00, but 11:45 to 12:00 is prep
      ['11:15', 201],
      ['12:30', 409], // its prep would begin at 12:15
      ['12:45', 201],
      ['09:00', 201], // prep may start before opening
    ];
    for (const [time, status] of tried) expect([time, (await desk.book(tuesday(time))).status]).toEqual([time, status]);
  });

  it('takes place and link from the type, the teammate or the account, according to the mode', async () => {
    const profile = { location: 'Room of Ada', meeting_link: 'https://meet.example/ada' };
    const either = { mode: 'either', location: '' };
    const desk = await openDesk(platform, { staff: { ada: profile }, bookingType: either });
    await desk.patch('/v1/calendar/settings', { mode: 'physical', location: 'Main street 1' });
    const seen = async (startsAt: string, more = {}) => {
      const { mode, location, meeting_link } = (await desk.book(startsAt, more)).body;
      return [mode, location, meeting_link];
    };
    expect(await seen(tuesday('09:00'))).toEqual(['physical', 'Room of Ada', '']);
    expect(await seen(tuesday('09:30'), { mode: 'online' })).toEqual(['online', '', 'https://meet.example/ada']);
    expect(await seen(tuesday('10:00'), { mode: 'online', location: 'lobby', meeting_link: '' })).toEqual([
      'online',
      'lobby',
      '',
    ]);
    await desk.patch(`/v1/calendar/staff/${emailOf('ada')}`, { location: '' });
    expect(await seen(tuesday('10:30'))).toEqual(['physical', 'Main street 1', '']);
    await desk.patch(`/v1/calendar/booking-types/${desk.bookingType}`, { mode: 'online' });
    expect(await seen(tuesday('11:00'), { mode: 'physical' })).toEqual(['online', '', 'https://meet.example/ada']);
  });
});

describe('a booking is rejected', () => {
  it('with 400 and the field of the wrong input', async () => {
    const desk = await openDesk(platform, { staff: { ada: {}, bob: {} }, bookingType: { staff: [emailOf('ada')] } });
    const off = await desk.post('/v1/calendar/booking-types', { name: 'Off', duration_minutes: 30, active: false });
    const wrong: [Record<string, unknown>, string][] = [
      [{ contact: undefined }, 'contact'],
      [{ contact: 'nobody' }, 'contact'],
      [{ contact: crypto.randomUUID() }, 'contact'],
      [{ booking_type: undefined }, 'booking_type'],
      [{ booking_type: 999_999_999 }, 'booking_type'],
      [{ booking_type: off.id }, 'booking_type'],
      [{ starts_at: undefined }, 'starts_at'],
      [{ starts_at: '2026-06-02T09:00:00' }, 'starts_at'],
      [{ starts_at: '2026-02-30T09:00:00Z' }, 'starts_at'],
      [{ staff: 'stranger@desk.example' }, 'staff'],
      [{ staff: emailOf('bob') }, 'staff'],
      [{ status: 'completed' }, 'status'],
      [{ mode: 'either' }, 'mode'],
      [{ deal: 'none' }, 'deal'],
      [{ notes: 7 }, 'notes'],
    ];
    for (const [input, field] of wrong) {
      expect([field, await desk.book(tuesday('09:00'), input)]).toMatchObject([field, invalid(field)]);
    }
  });

  it('if a string exceeds its limit in code points, but not at the limit', async () => {
    const desk = await openDesk(platform, { bookingType: { duration_minutes: 5, slot_interval_minutes: 5 } });
    const limits = { notes: 5_000, location: 255, meeting_link: 500 };
    const cases = Object.entries(limits).flatMap(([field, limit]) =>
      ['x', '𝒳'].map((letter) => ({ field, limit, letter })),
    );
    for (const [index, { field, limit, letter }] of cases.entries()) {
      const book = (length: number) => desk.book(tuesday(`09:${index}5`), { [field]: letter.repeat(length) });
      expect(await book(limit + 1)).toMatchObject(invalid(field));
      const longest = await book(limit);
      expect([longest.status, [...longest.body[field]].length]).toEqual([201, limit]);
    }
  });

  it('with slot_taken and the reason if the start is not free', async () => {
    const desk = await openDesk(platform, { bookingType: { min_notice_minutes: 120, window_days: 30 } });
    await desk.post(`/v1/calendar/staff/${emailOf('ada')}/time-off`, { from: '2026-06-03', to: '2026-06-04' });
    const wrong: [string, RegExp][] = [
      [tuesday('09:10'), /off the grid/],
      ['2026-06-02T09:00:01+02:00', /off the grid/],
      ['2026-06-01T11:30:00+02:00', /too soon/],
      ['2026-05-01T11:30:00+02:00', /too soon/],
      ['2026-07-02T09:00:00+02:00', /too far/],
      [tuesday('17:00'), /outside opening hours/],
      ['2026-06-03T10:00:00+02:00', /time off/],
    ];
    for (const [startsAt, reason] of wrong) {
      const response = await desk.book(startsAt);
      expect([startsAt, response.status, response.body.error]).toEqual([
        startsAt,
        409,
        { code: 'slot_taken', message: expect.stringMatching(reason) },
      ]);
    }
  });

  it('if appointments are switched off, or the teammate has left or is inactive', async () => {
    const desk = await openDesk(platform, { staff: { ada: {}, bob: {} } });
    const leaver = await addMember(platform, desk.account.id, 'leo');
    await desk.post('/v1/calendar/staff', { email: emailOf('leo'), hours: { tue: [['09:00', '17:00']] } });
    const staff = [emailOf('ada'), emailOf('bob'), emailOf('leo')];
    await desk.patch(`/v1/calendar/booking-types/${desk.bookingType}`, { staff });
    await desk.patch(`/v1/calendar/staff/${emailOf('ada')}`, { active: false });
    await platform.admin('DELETE', `/admin/accounts/${desk.account.id}/members/${leaver}`);
    await waitFor('the teammate to have left', async () => {
      return (await desk.get(`/v1/calendar/staff/${emailOf('leo')}`)).active === false;
    });
    expect(await desk.book(tuesday('09:00'), { staff: emailOf('leo') })).toMatchObject(invalid('staff'));
    expect(await desk.book(tuesday('09:00'), { staff: emailOf('ada') })).toMatchObject(refusal(409, 'slot_taken'));
    expect((await desk.book(tuesday('09:00'))).body.staff.name).toBe('Bob');
    await desk.patch('/v1/calendar/settings', { enabled: false });
    expect(await desk.book(tuesday('10:00'))).toMatchObject(refusal(409, 'invalid_state'));
  });
});
