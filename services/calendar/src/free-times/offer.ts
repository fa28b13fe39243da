import type { KnownContact } from '@customer-platform/contact-copy';
import type { Settings } from '@customer-platform/contracts/calendar';
import { ApiError } from '@customer-platform/contracts/core';
import { FairPermits, PermitQueue, type Sql } from '@customer-platform/service-kit';
import { settingsOf } from '../settings/settings.sql.ts';
import type { Candidate } from './free-starts.ts';
import type { TimeRange } from './local-day.ts';
import { type OfferedTeammate, type OfferedType, type OfferRequest, type RangesMs, selectOffer } from './offer.sql.ts';

/** Limits the offers in memory while starts are calculated. The largest is 25 MB: 100 teammates with all their hours and as many gaps as fit. */
export const offers = new PermitQueue(new FairPermits(8, 1 / 3), 200, 10_000);

/** An account's offer of one booking type in a window. */
export interface Offer {
  /** Undefined if the booking type does not exist. If the excluded appointment is of this type, the durations are those of the appointment. */
  bookingType: OfferedType | undefined;
  settings: Settings;
  contact: KnownContact | undefined;
  /** True if the appointment to exclude exists. */
  isExcludedKnown: boolean;
  /** True if it is an appointment of this booking type. */
  isExcludedOfType: boolean;
  /** In order of preference. The `id` is the whole teammate. */
  candidates: Candidate<OfferedTeammate>[];
}

/** Loads an account's offer of one booking type in a window, in one statement. */
export async function loadOffer(tx: Sql, request: OfferRequest): Promise<Offer> {
  const row = await selectOffer(tx, request);
  const isExcludedOfType = row.excluded !== null && row.excluded.booking_type_id === row.booking_type?.id;
  const lengths = isExcludedOfType ? row.excluded : undefined;
  return {
    bookingType: row.booking_type ? { ...row.booking_type, ...lengths } : undefined,
    settings: settingsOf(row.settings),
    contact: row.contact ?? undefined,
    isExcludedKnown: row.excluded !== null,
    isExcludedOfType,
    candidates: row.staff.map(candidateOf),
  };
}

/**
 * Returns the booking type of an offer. Throws invalid_request with field `booking_type` if it is switched off, unless an appointment of this type is
 * moved. Throws it with field `staff` if the requested teammate does not take this type.
 */
export function offeredType(offer: Offer, staff: string | undefined): OfferedType {
  const { bookingType, isExcludedOfType, candidates } = offer;
  if (!bookingType || !(bookingType.active || isExcludedOfType)) {
    const message = 'booking_type must be the id of a booking type that is switched on';
    throw new ApiError('invalid_request', message, { field: 'booking_type' });
  }
  if (staff !== undefined && !candidates[0]?.id.in_team) {
    const message = 'staff must be the email of a teammate who takes this booking type';
    throw new ApiError('invalid_request', message, { field: 'staff' });
  }
  return bookingType;
}

function candidateOf(teammate: OfferedTeammate): Candidate<OfferedTeammate> {
  const { active, hours, overrides, taken, time_off } = teammate;
  return {
    id: teammate,
    active,
    hours,
    overrides,
    // Created on access, one teammate at a time: converting all of them at once would block the event loop.
    get taken() {
      return rangesOf(taken);
    },
    get timeOff() {
      return rangesOf(time_off);
    },
  };
}

function rangesOf([starts, ends]: RangesMs): TimeRange[] {
  return starts.map((startsAt, index) => ({ startsAt, endsAt: ends[index]! }));
}
