import { parseInstant } from '@customer-platform/contracts/core';
import { LRUCache } from 'lru-cache';
import { Temporal } from 'temporal-polyfill';

/** 24 hours in milliseconds. A date in a zone can be longer or shorter. */
export const dayMs = 86_400_000;

/** A period in which a zone keeps one offset from UTC. It is [startsAt, endsAt) in epoch milliseconds; the offset is in milliseconds. */
type OffsetStretch = { startsAt: number; endsAt: number; offset: number };

const yearMs = 366 * dayMs;
/** More than offsets (up to 26 h) and a skipped day (24 h) can shift a local time away from its year. */
const marginMs = 3 * dayMs;
/** Maximum number of cached zone years. A year has a handful of stretches, so the cache stays below a few megabytes. */
const maxCachedYears = 4_000;

const stretchesByYear = new LRUCache<string, OffsetStretch[]>({ max: maxCachedYears });

/**
 * The stretches of an IANA zone that cover the year around `near`. That is an instant or a local time, in epoch milliseconds. The first and the last
 * stretch are unbounded. For loops over many times; the functions below serve single times. Throws RangeError for an unknown zone.
 */
export function offsetStretches(near: number, zone: string): OffsetStretch[] {
  const year = Math.floor(near / yearMs);
  const key = `${year}${zone}`;
  const cached = stretchesByYear.get(key);
  if (cached) return cached;
  const stretches = readStretches(zone, year * yearMs - marginMs, (year + 1) * yearMs + marginMs);
  stretchesByYear.set(key, stretches);
  return stretches;
}

function readStretches(zone: string, from: number, to: number): OffsetStretch[] {
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

/** The local time of a zone at an instant: the epoch milliseconds at which a UTC clock reads the same. */
export function localAt(instantMs: number, zone: string): number {
  return instantMs + offsetAt(instantMs, zone);
}

function offsetAt(instantMs: number, zone: string): number {
  return offsetStretches(instantMs, zone).find(({ endsAt }) => instantMs < endsAt)!.offset;
}

/**
 * The first instant at which the zone's clock has reached a local time. An ordinary time maps to its instant, a repeated time to its first
 * occurrence, and a time inside a gap to the moment of the change.
 */
export function firstInstantOf(local: number, zone: string): number {
  const reachedIn = ({ startsAt, offset }: OffsetStretch) => Math.max(startsAt, local - offset);
  return reachedIn(offsetStretches(local, zone).find((stretch) => reachedIn(stretch) < stretch.endsAt)!);
}

/** The instant of a date (its first instant in the zone) or of a date-time with an offset. The string must be a valid one of these. */
export function instantOf(dateOrInstant: string, zone: string): Date {
  return dateOrInstant.length === 10
    ? new Date(firstInstantOf(Date.parse(dateOrInstant), zone))
    : parseInstant(dateOrInstant)!;
}

/** The date in the zone at an instant, such as 2026-11-20. */
export function dayOf(instant: Date, zone: string): string {
  return formatInstant(instant, zone).slice(0, 10);
}

/** An instant as responses show it: ISO 8601 in the zone, with the offset. Milliseconds appear only if there are any. */
export function formatInstant(instant: Date, zone: string): string {
  const instantMs = instant.getTime();
  const offsetMs = Math.round(offsetAt(instantMs, zone) / 60_000) * 60_000;
  const local = new Date(instantMs + offsetMs).toISOString();
  const minutes = Math.abs(offsetMs) / 60_000;
  const offset = `${offsetMs < 0 ? '-' : '+'}${twoDigits(Math.floor(minutes / 60))}:${twoDigits(minutes % 60)}`;
  return `${local.endsWith('.000Z') ? local.slice(0, 19) : local.slice(0, 23)}${offset}`;
}

const twoDigits = (value: number) => String(value).padStart(2, '0');
