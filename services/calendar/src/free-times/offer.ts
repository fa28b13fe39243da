import type { KnownContact } from '@customer-platform/contact-copy';
import type { Settings } from '@customer-platform/contracts/calendar';
import { ApiError } from '@customer-platform/contracts/core';
import { FairPermits, PermitQueue, type Sql } from '@customer-platform/service-kit';
import { settingsOf } from '../settings/settings.sql.ts';
import type { Candidate } from './free-starts.ts';
import type { TimeRange } from './local-day.ts';
import { type OfferedTeammate, type OfferedType, type OfferRequest, type RangesMs, selectOffer } from './offer.sql.ts';

/** Permits for offers that are in memory while starts are calculated: one with a hundred teammates, all their hours and as many gaps between appointments as fit is 25 MB. */
export const offers = new PermitQueue(new FairPermits(8, 1 / 3), 200, 10_000);

/** An account's offer of one booking type in a window. */
export interface Offer {
  /** Undefined if there is no such booking type. Its lengths are those of an excluded appointment of this type. */
  bookingType: OfferedType | undefined;
  settings: Settings;
  contact: KnownContact | undefined;
  /** True if the appointment to exclude exists. */
  isExcludedKnown: boolean;
  /** True if it is of this booking type. */
  isExcludedOfType: boolean;
  /** In the order in which they are tried; their id is the whole teammate. */
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
 * Returns the booking type of an offer. Throws invalid_request, field booking_type, where it is not switched on, unless an appointment of it is moved; and field
 * staff where a teammate was asked for who does not take it.
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
    // Made when they are read, one teammate after the other: those of a hundred at once would hold others' requests up.
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
