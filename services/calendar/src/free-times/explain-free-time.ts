import * as contract from '@customer-platform/contracts/calendar';
import { implement } from '../implement.ts';
import { refusalsOf } from './free-starts.ts';
import { loadOffer } from './offer.ts';

export const explainFreeTime = implement(contract.explainFreeTime, {
  async handle({ account, tx, query, now, fail }) {
    const { booking_type, starts_at, staff } = query;
    const request = { accountId: account.id, bookingTypeId: booking_type, staff, from: starts_at, to: starts_at };
    const { bookingType, candidates } = await loadOffer(tx, request);
    if (!bookingType?.active) {
      return fail(
        'invalid_request',
        'booking_type must be the id of a booking type that is switched on',
        'booking_type',
      );
    }
    if (staff !== undefined && !candidates[0]?.id.in_team) {
      return fail('invalid_request', 'staff must be the email of a teammate who takes this booking type', 'staff');
    }
    const rules = { bookingType, zone: account.timezone, now: now.getTime(), startsAt: starts_at.getTime() };
    const refusals = candidates.map((candidate) => ({
      staff: candidate.id.email,
      codes: refusalsOf({ ...rules, candidate }),
    }));
    return {
      free: refusals.some(({ codes }) => codes.length === 0),
      reasons: refusals.flatMap(({ staff, codes }) => codes.map((code) => ({ staff, code }))),
    };
  },
});
