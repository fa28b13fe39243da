import { parseInstant } from '@customer-platform/contracts/core';
import { Temporal } from 'temporal-polyfill';

/** A stretch of time during which a zone keeps one offset; all three in milliseconds, [startsAt, endsAt) as instants. */
export type OffsetStretch = { startsAt: number; endsAt: number; offset: number };

const hourMs = 3_600_000;
/** More than any offset (26 h) and any skipped day (24 h) can shift a local time away from its year. */
const marginMs = 72 * hourMs;
/** A year of a zone is at most a handful of stretches, so that the whole cache stays below some megabytes. */
const maxCachedYears = 4_000;

const yearsByZone = new Map<string, OffsetStretch[]>();

/**
 * The clock of an IANA zone with every instant, and every local time written as if it were UTC, in epoch milliseconds.
 * Throws RangeError for a zone that does not exist.
 */
export function offsetStretches(zone: string, near: number): OffsetStretch[] {
  const year = new Date(near).getUTCFullYear();
  const key = `${zone} ${year}`;
  const known = yearsByZone.get(key);
  if (known) return known;
  const stretches = readYear(zone, year);
  if (yearsByZone.size >= maxCachedYears) yearsByZone.delete(yearsByZone.keys().next().value!);
  yearsByZone.set(key, stretches);
  return stretches;
}

/** What the zone's clock shows at an instant, as epoch milliseconds of the same reading in UTC. */
export function localAt(zone: string, instant: number): number {
  return instant + offsetAt(offsetStretches(zone, instant), instant);
}

/**
 * The first instant at which the zone's clock has reached a local time. One rule for all three cases: an ordinary time is
 * itself, of a time that happens twice it is the first, and a time inside a gap is the moment of the change.
 */
export function firstInstantOf(zone: string, local: number): number {
  for (const stretch of offsetStretches(zone, local)) {
    const reached = Math.max(stretch.startsAt, local - stretch.offset);
    if (reached < stretch.endsAt) return reached;
  }
  throw new Error(`no stretch of ${zone} reaches ${local}: the last one must be unbounded`);
}

/** The instant that a date (its first instant in the zone) or a date-time with offset names; the text is known to be one. */
export function instantOf(dateOrInstant: string, zone: string): Date {
  return dateOrInstant.length === 10
    ? new Date(firstInstantOf(zone, Date.parse(dateOrInstant)))
    : parseInstant(dateOrInstant)!;
}

function offsetAt(stretches: OffsetStretch[], instant: number): number {
  for (const stretch of stretches) if (instant < stretch.endsAt) return stretch.offset;
  throw new Error(`no stretch covers ${instant}: the last one must be unbounded`);
}

function readYear(zone: string, year: number): OffsetStretch[] {
  const from = Date.UTC(year, 0, 1) - marginMs;
  const to = Date.UTC(year + 1, 0, 1) + marginMs;
  const stretches: OffsetStretch[] = [];
  let clock = Temporal.Instant.fromEpochMilliseconds(from).toZonedDateTimeISO(zone);
  let startsAt = -Infinity;
  for (;;) {
    const change = clock.getTimeZoneTransition('next');
    const endsAt = change === null || change.epochMilliseconds > to ? Infinity : change.epochMilliseconds;
    stretches.push({ startsAt, endsAt, offset: clock.offsetNanoseconds / 1e6 });
    if (change === null || endsAt === Infinity) return stretches;
    startsAt = endsAt;
    clock = change;
  }
}
