import * as contract from '@customer-platform/contracts/calendar';
import {
  countWithin,
  dayMs,
  firstInstantOf,
  formatInstant,
  instantOf,
  localAt,
  maxPageBytes,
} from '@customer-platform/service-kit';
import { implement } from '../implement.ts';
import { type FreeStart, freeStartPieces } from './free-starts.ts';
import type { OfferedTeammate } from './offer.sql.ts';
import { loadOffer, offeredType, offers } from './offer.ts';
import { runInSlices } from './run-in-slices.ts';

const defaultDays = 7;
const maxDays = 31;

export const listFreeTimes = implement(contract.listFreeTimes, {
  async handle({ account, query, now, fail, prefetch }) {
    const { staff, exclude, limit, starting_after } = query;
    const { from, to } = windowOf(query, account.timezone, now);
    if (to < from) return fail('invalid_request', 'to must not be before from', 'to');
    if (isLongerThan(maxDays, from, to, account.timezone)) {
      return fail('invalid_request', `to must be at most ${maxDays} days after from`, 'to');
    }
    const request = { accountId: account.id, bookingTypeId: query.booking_type, staff, exclude };
    const after = starting_after ? Math.max(from.getTime(), starting_after.getTime() + 1) : from.getTime();
    const window = { from: after, to: to.getTime(), limit: limit + 1 };
    const { bookingType, starts } = prefetch(({ onConnection, withPermit }) =>
      withPermit(offers, 'the calculation of free times', async () => {
        const offer = await onConnection((sql) => loadOffer(sql, { ...request, from: new Date(after), to }));
        const bookingType = offeredType(offer, staff);
        if (exclude !== undefined && !offer.isExcludedKnown) {
          return fail('invalid_request', 'exclude must be the id of an appointment of this account', 'exclude');
        }
        if (!offer.settings.enabled)
          return fail('invalid_state', "Appointments are switched off in the account's Calendar settings");
        const rules = { bookingType, zone: account.timezone, now: now.getTime(), staff: offer.candidates };
        return { bookingType, starts: (await runInSlices(freeStartPieces({ ...rules, ...window }))).flat() };
      }),
    );
    const timezone = query.timezone ?? account.timezone;
    const count = countWithin(starts.map(bytesOf), { items: limit, bytes: maxPageBytes });
    const data = starts.slice(0, count).map(({ startsAt, endsAt, staff }) => ({
      starts_at: formatInstant(new Date(startsAt), timezone),
      ends_at: formatInstant(new Date(endsAt), timezone),
      staff: staff.map(({ name, email }) => ({ name, email })),
    }));
    const has_more = starts.length > count;
    const { id, name } = bookingType;
    return { booking_type: { id, name }, timezone, data, has_more, next: has_more ? data.at(-1)!.starts_at : null };
  },
});

/** Returns the approximate size of a start in bytes. With many teammates, a thousand starts take tens of megabytes. */
function bytesOf({ staff }: FreeStart<OfferedTeammate>): number {
  return staff.reduce((sum, { name, email }) => sum + name.length + email.length + 24, 80);
}

/** Returns the requested window. A date means its first instant, and the default end of a window that starts with a date is a date too. */
function windowOf(query: { from?: string | undefined; to?: string | undefined }, zone: string, now: Date) {
  const from = query.from === undefined ? now : instantOf(query.from, zone);
  if (query.to !== undefined) return { from, to: instantOf(query.to, zone) };
  const isDate = query.from?.length === 10;
  const to = isDate
    ? firstInstantOf(Date.parse(query.from!) + defaultDays * dayMs, zone)
    : from.getTime() + defaultDays * dayMs;
  return { from, to: new Date(to) };
}

/** Returns whether a window exceeds `days` in local and in elapsed time, so that clock changes do not matter. */
function isLongerThan(days: number, from: Date, to: Date, zone: string): boolean {
  const elapsedMs = to.getTime() - from.getTime();
  const byClockMs = localAt(to.getTime(), zone) - localAt(from.getTime(), zone);
  return Math.min(elapsedMs, byClockMs) > days * dayMs;
}
