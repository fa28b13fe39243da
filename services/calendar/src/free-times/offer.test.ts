import { inTransaction } from '@customer-platform/service-kit';
import { rowsRead, startPlatform } from '@customer-platform/testkit';
import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type Desk, insertAppointments, openDesk, weekOf } from '../../test/calendar.ts';
import { type Candidate, freeStarts } from './free-starts.ts';
import { minuteMs, type TimeRange } from './local-day.ts';
import { loadOffer } from './offer.ts';

const platform = await startPlatform({ services: ['cdp', 'calendar'] });
afterAll(() => platform.stop());
beforeEach(() => platform.clock.set('2026-03-25T08:00:00Z'));

const from = new Date('2026-03-26T00:00:00Z');
const to = new Date('2026-03-28T00:00:00Z');
const alwaysOpen = { hours: weekOf(['00:00', '24:00']) };

/** A range of `minutes` that begins so many minutes after the start of the window. */
const rangeAt = (start: number, minutes: number): TimeRange => ({
  startsAt: from.getTime() + start * minuteMs,
  endsAt: from.getTime() + (start + minutes) * minuteMs,
});

/** Ranges of `minutes` over the whole window, one every `step` minutes. */
const everyMinutes = (step: number, minutes: number) =>
  Array.from({ length: (to.getTime() - from.getTime()) / (step * minuteMs) }, (_, index) =>
    rangeAt(index * step, minutes),
  );

/** Replaces all appointments of the desk's teammates by these ranges. */
async function fill(desk: Desk, taken: TimeRange[]): Promise<void> {
  const sql = platform.database('calendar');
  await sql`delete from appointments where account_id = ${desk.account.id}`;
  await insertAppointments(sql, desk, taken);
}

/** Replaces all time off of the desk's teammates by these ranges. */
async function setTimeOff({ account }: Desk, timeOff: TimeRange[]): Promise<void> {
  const sql = platform.database('calendar');
  await sql`delete from time_off where account_id = ${account.id}`;
  await sql`
    insert into time_off (account_id, staff_id, starts_at, ends_at, reason)
    select ${account.id}, s.id, at, until, ''
    from staff s, unnest(${datesOf(timeOff, 'startsAt')}::text[]::timestamptz[], ${datesOf(timeOff, 'endsAt')}::text[]::timestamptz[]) as t (at, until)
    where s.account_id = ${account.id}`;
}

const datesOf = (ranges: TimeRange[], key: keyof TimeRange) =>
  ranges.map((range) => new Date(range[key]).toISOString());

async function setLengths({ account }: Desk, duration: number, prep: number): Promise<void> {
  await platform.database('calendar')`
    update booking_types set duration_minutes = ${duration}, prep_minutes = ${prep} where account_id = ${account.id}`;
}

const offerOf = (desk: Desk) =>
  loadOffer(platform.database('calendar'), { accountId: desk.account.id, bookingTypeId: desk.bookingType, from, to });

describe('the offer of a full calendar', () => {
  it('has one range per teammate who is booked around the clock, however short the appointments', async () => {
    const desk = await openDesk(platform, { staff: { ada: alwaysOpen, bob: alwaysOpen } });
    await fill(desk, everyMinutes(5, 5));
    const { candidates } = await offerOf(desk);
    expect(candidates.map(({ taken }) => taken)).toEqual([[rangeAt(0, 2_880)], [rangeAt(0, 2_880)]]);
  });

  it('separates ranges only if the appointment and its prep fit between them', async () => {
    const desk = await openDesk(platform, { staff: { ada: alwaysOpen } });
    await fill(desk, [rangeAt(0, 60), rangeAt(104, 60), rangeAt(209, 60)]);
    await setLengths(desk, 30, 15);
    expect((await offerOf(desk)).candidates[0]!.taken).toEqual([rangeAt(0, 164), rangeAt(209, 60)]);
    await setLengths(desk, 30, 14);
    expect((await offerOf(desk)).candidates[0]!.taken).toEqual([rangeAt(0, 60), rangeAt(104, 60), rangeAt(209, 60)]);
  });

  it('reads no past appointments, however many there are', async () => {
    const desk = await openDesk(platform, { staff: { ada: alwaysOpen } });
    await fill(desk, [rangeAt(600, 30)]);
    const sql = platform.database('calendar');
    await insertAppointments(sql, desk, Array(5_000).fill(rangeAt(600, 30)), { status: 'cancelled' });
    await sql.unsafe('analyze appointments');
    const request = { accountId: desk.account.id, bookingTypeId: desk.bookingType, from, to };
    await inTransaction(sql, async (tx) => {
      const before = await rowsRead(tx, 'appointments');
      expect((await loadOffer(tx, request)).candidates[0]!.taken).toEqual([rangeAt(600, 30)]);
      expect((await rowsRead(tx, 'appointments')) - before).toBeLessThan(50);
    });
  });

  it('merges overlapping time off, up to the limit of a teammate', async () => {
    const desk = await openDesk(platform, { staff: { ada: alwaysOpen } });
    await setTimeOff(desk, everyMinutes(5, 500));
    expect((await offerOf(desk)).candidates[0]!.timeOff).toEqual([rangeAt(0, 2_875 + 500)]);
  });
});

const gaps = fc.array(fc.tuple(fc.integer({ min: 0, max: 120 }), fc.integer({ min: 5, max: 240 })), {
  maxLength: 20,
});
const absences = fc.array(fc.tuple(fc.integer({ min: -600, max: 2_880 }), fc.integer({ min: 1, max: 400 })));
const desks = fc.record({
  // Consecutive: a teammate's ranges never overlap.
  taken: gaps.map((all) => {
    let at = -300;
    return all.map(([gap, minutes]) => {
      const range = rangeAt(at + gap, minutes);
      at += gap + minutes;
      return range;
    });
  }),
  timeOff: absences.map((all) => all.map(([start, minutes]) => rangeAt(start, minutes))),
  duration_minutes: fc.constantFrom(5, 15, 50, 240),
  prep_minutes: fc.constantFrom(0, 10, 45),
});

it('merged ranges refuse exactly the starts that the single ones refuse', async () => {
  const desk = await openDesk(platform, { staff: { ada: alwaysOpen }, bookingType: { slot_interval_minutes: 5 } });
  const startsFor = (bookingType: Parameters<typeof freeStarts>[0]['bookingType'], ada: Candidate<unknown>) => {
    const window = { from: from.getTime(), to: to.getTime(), limit: Infinity };
    const found = freeStarts({ ...window, bookingType, zone: 'Europe/Berlin', now: from.getTime(), staff: [ada] });
    return found.map(({ startsAt }) => startsAt);
  };
  await fc.assert(
    fc.asyncProperty(desks, async ({ taken, timeOff, duration_minutes, prep_minutes }) => {
      await setLengths(desk, duration_minutes, prep_minutes);
      await fill(desk, taken);
      await setTimeOff(desk, timeOff);
      const { bookingType, candidates } = await offerOf(desk);
      const [ada] = candidates;
      expect(startsFor(bookingType!, ada!)).toEqual(startsFor(bookingType!, { ...ada!, taken, timeOff }));
    }),
    { numRuns: 25 },
  );
}, 60_000);
