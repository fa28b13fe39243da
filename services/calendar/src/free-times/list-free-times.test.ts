import { startPlatform } from '@customer-platform/testkit';
import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type Desk, emailOf, invalid, openDesk, refusal, weekOf } from '../../test/calendar.ts';

const platform = await startPlatform({ services: ['cdp', 'calendar'] });
afterAll(() => platform.stop());
beforeEach(() => platform.clock.set('2026-03-25T08:00:00Z'));

const read = (desk: Desk, query: Record<string, string | number>) => {
  const search = new URLSearchParams({ booking_type: desk.bookingType, ...query } as unknown as Record<string, string>);
  return desk.account.request('GET', `/v1/calendar/free-times?${search}`);
};
const explain = (desk: Desk, starts_at: string, more: Record<string, string> = {}) => {
  const search = new URLSearchParams({ booking_type: String(desk.bookingType), starts_at, ...more });
  return desk.account.request('GET', `/v1/calendar/free-times/explain?${search}`);
};
const open = (...ranges: [string, string][]) => ({ ada: { hours: weekOf(...ranges) } });

describe('the list of free times', () => {
  it('shows each start with its end and the available teammates in order of preference', async () => {
    const staff = { ada: { hours: weekOf(['09:00', '10:00']) }, bob: { hours: weekOf(['09:30', '10:30']) } };
    const desk = await openDesk(platform, { staff, bookingType: { default_staff: emailOf('bob') } });
    const [ada, bob] = [
      { name: 'Ada', email: emailOf('ada') },
      { name: 'Bob', email: emailOf('bob') },
    ];
    expect((await read(desk, { from: '2026-03-26', to: '2026-03-27' })).body).toEqual({
      booking_type: { id: desk.bookingType, name: 'Consultation' },
      timezone: 'Europe/Berlin',
      data: [
        { starts_at: '2026-03-26T09:00:00+01:00', ends_at: '2026-03-26T09:30:00+01:00', staff: [ada] },
        { starts_at: '2026-03-26T09:30:00+01:00', ends_at: '2026-03-26T10:00:00+01:00', staff: [bob, ada] },
        { starts_at: '2026-03-26T10:00:00+01:00', ends_at: '2026-03-26T10:30:00+01:00', staff: [bob] },
      ],
      has_more: false,
      next: null,
    });
    expect(await desk.starts({ from: '2026-03-26', to: '2026-03-27', staff: emailOf('ada') })).toHaveLength(2);
  });

  it('skips the hour that the clock skips, and lists the first of two equal local times', async () => {
    const desk = await openDesk(platform, { staff: open(['01:30', '03:30']), bookingType: { window_days: 365 } });
    expect(await desk.starts({ from: '2026-03-29', to: '2026-03-30' })).toEqual([
      '2026-03-29T01:30:00+01:00',
      '2026-03-29T03:00:00+02:00',
    ]);
    expect(await desk.starts({ from: '2026-10-25', to: '2026-10-26' })).toEqual([
      '2026-10-25T01:30:00+02:00',
      '2026-10-25T02:00:00+02:00',
      '2026-10-25T02:30:00+02:00',
      '2026-10-25T03:00:00+01:00',
    ]);
    expect((await desk.book('2026-10-25T02:00:00+01:00')).body.error).toMatchObject({ code: 'slot_taken' });
    expect((await desk.book('2026-10-25T02:30:00+02:00')).body.ends_at).toBe('2026-10-25T02:00:00+01:00');
  });

  it('shows the same instants in a requested zone', async () => {
    const desk = await openDesk(platform, { staff: open(['09:00', '09:30']) });
    const { body } = await read(desk, { from: '2026-03-28', to: '2026-03-30', timezone: 'America/New_York' });
    expect(body.timezone).toBe('America/New_York');
    expect(body.data.map(({ starts_at }: { starts_at: string }) => starts_at)).toEqual([
      '2026-03-28T04:00:00-04:00',
      '2026-03-29T03:00:00-04:00',
    ]);
  });

  it('by default begins now and covers seven days, at most 31', async () => {
    const desk = await openDesk(platform, { staff: open(['09:00', '09:30']) });
    expect(await desk.starts({})).toEqual([
      ...['26', '27', '28'].map((day) => `2026-03-${day}T09:00:00+01:00`),
      ...['29', '30', '31'].map((day) => `2026-03-${day}T09:00:00+02:00`),
      '2026-04-01T09:00:00+02:00',
    ]);
    expect(await desk.starts({ from: '2026-03-30' })).toHaveLength(7);
    expect(await desk.starts({ from: '2026-10-01', to: '2026-11-01' })).toHaveLength(31);
    const wrong = [
      { from: '2026-10-01', to: '2026-11-02' },
      { from: '2026-05-01T00:00:00Z', to: '2026-06-01T00:00:01Z' },
      { from: '2026-05-01', to: '2026-04-30' },
    ];
    for (const query of wrong) {
      expect(await read(desk, query)).toMatchObject(invalid('to'));
    }
  });

  it('is complete when read in pages', async () => {
    const desk = await openDesk(platform);
    const window = { from: '2026-03-26', to: '2026-03-29' };
    const whole = await desk.starts(window);
    expect(whole).toHaveLength(48);
    const seen: string[] = [];
    let next: string | null = null;
    for (let pages = 0; pages < 10; pages += 1) {
      const { body } = await read(desk, { ...window, limit: 7, ...(next === null ? {} : { starting_after: next }) });
      seen.push(...body.data.map(({ starts_at }: { starts_at: string }) => starts_at));
      expect(body.has_more).toBe(body.next !== null);
      next = body.next;
      if (next === null) break;
    }
    expect(seen).toEqual(whole);
  });

  it('has the same pages if appointments overlap their start', async () => {
    const lengths = { duration_minutes: 60, prep_minutes: 45, slot_interval_minutes: 15 };
    const desk = await openDesk(platform, { staff: open(['00:00', '24:00']), bookingType: lengths });
    for (const startsAt of ['2026-03-25T23:15:00+01:00', '2026-03-26T05:00:00+01:00', '2026-03-26T22:30:00+01:00'])
      expect((await desk.book(startsAt)).status).toBe(201);
    const absence = { from: '2026-03-26T09:00:00+01:00', to: '2026-03-26T16:00:00+01:00' };
    await desk.post(`/v1/calendar/staff/${emailOf('ada')}/time-off`, absence);
    const window = { from: '2026-03-26', to: '2026-03-27' };
    const whole = await desk.starts(window);
    expect(whole.length).toBeGreaterThan(20);
    const rests = await Promise.all(whole.map((starting_after) => desk.starts({ ...window, starting_after })));
    expect(rests).toEqual(whole.map((_, index) => whole.slice(index + 1)));
    expect(await desk.starts({ ...window, starting_after: '2026-03-28T00:00:00Z' })).toEqual([]);
  });

  it('has pages of at most a few megabytes, whatever the number and the names of teammates', async () => {
    const names = ['ada', 'bob', 'cyd', 'dan', 'eve', 'fay', 'gus', 'hal', 'ida', 'jon'];
    const staff = Object.fromEntries(names.map((name) => [name, {}]));
    const desk = await openDesk(platform, { staff, bookingType: { slot_interval_minutes: 5 } });
    const sql = platform.database('calendar');
    await sql`update members set name = repeat('n', 400) where account_id = ${desk.account.id}`;
    const window = { from: '2026-03-26', to: '2026-04-20' };
    const first = await read(desk, window);
    expect(first.body).toMatchObject({ has_more: true, next: first.body.data.at(-1).starts_at });
    expect(first.text.length).toBeLessThan(2.2 * 1024 * 1024);
    const second = await read(desk, { ...window, starting_after: first.body.next, limit: 1 });
    // The cursor may be sent unescaped: its "+" then means a space.
    const raw = `booking_type=${desk.bookingType}&from=2026-03-26&to=2026-04-20&limit=1&starting_after=${first.body.next}`;
    expect((await desk.get(`/v1/calendar/free-times?${raw}`)).data).toEqual(second.body.data);
    const after = Date.parse(second.body.data[0].starts_at) - Date.parse(first.body.next);
    expect(after).toBe(5 * 60_000);
  });

  it('omits taken times, and treats an excluded appointment as free', async () => {
    const desk = await openDesk(platform, { staff: open(['09:00', '10:00']) });
    const window = { from: '2026-03-26', to: '2026-03-27' };
    const { body } = await desk.book('2026-03-26T09:00:00+01:00');
    expect(await desk.starts(window)).toEqual(['2026-03-26T09:30:00+01:00']);
    expect(await desk.starts({ ...window, exclude: body.id })).toHaveLength(2);
  });

  it('is rejected with the wrong field, and while appointments are off', async () => {
    const desk = await openDesk(platform, { staff: { ada: {}, bob: {} }, bookingType: { staff: [emailOf('ada')] } });
    const wrong: [Record<string, string | number>, string][] = [
      [{ booking_type: 999_999_999 }, 'booking_type'],
      [{ booking_type: 'x' }, 'booking_type'],
      [{ staff: 'stranger@desk.example' }, 'staff'],
      [{ staff: emailOf('bob') }, 'staff'],
      [{ exclude: crypto.randomUUID() }, 'exclude'],
      [{ from: '2026-03-26T00:00:00' }, 'from'],
      [{ timezone: 'Mars/Olympus' }, 'timezone'],
      [{ limit: 1_001 }, 'limit'],
      [{ starting_after: '' }, 'starting_after'],
    ];
    for (const [query, field] of wrong) {
      expect([field, await read(desk, query)]).toMatchObject([field, invalid(field)]);
    }
    expect((await desk.account.request('GET', '/v1/calendar/free-times')).body.error.field).toBe('booking_type');
    await desk.patch('/v1/calendar/settings', { enabled: false });
    expect(await read(desk, {})).toMatchObject(refusal(409, 'invalid_state'));
  });
});

it('the explanation of a start has each reason for each teammate', async () => {
  const staff = { ada: {}, bob: { active: false } };
  const desk = await openDesk(platform, { staff, bookingType: { min_notice_minutes: 60, window_days: 10 } });
  await desk.book('2026-03-26T09:00:00+01:00');
  await desk.post(`/v1/calendar/staff/${emailOf('ada')}/time-off`, { from: '2026-03-27', to: '2026-03-28' });
  const reasons: [string, string[]][] = [
    ['2026-03-26T10:00:00+01:00', []],
    ['2026-03-26T09:00:00+01:00', ['taken']],
    ['2026-03-26T09:45:00+01:00', ['off_grid']],
    ['2026-03-26T18:00:00+01:00', ['outside_hours']],
    ['2026-03-27T09:00:00+01:00', ['time_off']],
    ['2026-03-25T09:30:00+01:00', ['too_soon']],
    ['2026-04-05T09:00:00+02:00', ['too_far']],
  ];
  for (const [startsAt, codes] of reasons) {
    const { body } = await explain(desk, startsAt, { staff: emailOf('ada') });
    expect([startsAt, body]).toEqual([
      startsAt,
      { free: codes.length === 0, reasons: codes.map((code) => ({ staff: emailOf('ada'), code })) },
    ]);
  }
  expect((await explain(desk, '2026-03-26T10:00:00+01:00')).body).toEqual({
    free: true,
    reasons: [{ staff: emailOf('bob'), code: 'inactive' }],
  });
});

const clock = (index: number) =>
  `${String(Math.floor(index / 4)).padStart(2, '0')}:${String((index % 4) * 15).padStart(2, '0')}`;
const range = fc
  .tuple(fc.integer({ min: 0, max: 95 }), fc.integer({ min: 1, max: 40 }))
  .map(([from, length]): [string, string] => [clock(from), clock(Math.min(96, from + length))]);
const desks = fc.record({
  timezone: fc.constantFrom('Europe/Berlin', 'Australia/Lord_Howe', 'Asia/Kathmandu', 'America/New_York'),
  hours: fc.array(range, { minLength: 1, maxLength: 3 }).map((ranges) => weekOf(...ranges)),
  duration_minutes: fc.constantFrom(15, 25, 60, 180),
  prep_minutes: fc.constantFrom(0, 10, 45),
  slot_interval_minutes: fc.constantFrom(15, 20, 45, 60),
  picks: fc.array(fc.tuple(fc.nat(), fc.boolean(), fc.constantFrom('', 'complete', 'cancel')), {
    minLength: 8,
    maxLength: 8,
  }),
});

it('free times and bookings agree, also after completions and cancellations: exactly the listed times can be booked', async () => {
  await fc.assert(
    fc.asyncProperty(desks, async ({ timezone, hours, picks, ...lengths }) => {
      const ada = { hours, overrides: { '2026-03-29': [['00:00', '04:00']] } };
      const bob = { hours: weekOf(['00:00', '03:30'], ['22:00', '24:00']) };
      const desk = await openDesk(platform, { timezone, staff: { ada, bob }, bookingType: lengths });
      const window = { from: '2026-03-28T00:00:00Z', to: '2026-03-30T00:00:00Z' };
      for (const [pick, isListed, end] of picks) {
        const listed = (await desk.starts(window)).map((start) => Date.parse(start));
        const unlisted = minutesOf(window).filter((minute) => !listed.includes(minute));
        const from = isListed && listed.length > 0 ? listed : unlisted;
        const startsAt = new Date(from[pick % from.length]!).toISOString();
        const expected = from === listed ? 201 : 409;
        expect([startsAt, (await explain(desk, startsAt)).body.free]).toEqual([startsAt, from === listed]);
        const { status, body } = await desk.book(startsAt);
        expect([startsAt, status]).toEqual([startsAt, expected]);
        if (status === 201 && end !== '') await desk.post(`/v1/calendar/appointments/${body.id}/${end}`);
      }
    }),
    { numRuns: 12 },
  );
}, 60_000);

/** Every fifth minute of the window: all starts, and as many other times. */
function minutesOf({ from, to }: { from: string; to: string }): number[] {
  const [first, last] = [Date.parse(from), Date.parse(to)];
  return Array.from({ length: (last - first) / 300_000 }, (_, index) => first + index * 300_000);
}
