import * as contract from '@customer-platform/contracts/calendar';
import { implement } from '../implement.ts';
import { refusalsAt } from './free-starts.ts';
import { loadOffer, offeredType, offers } from './offer.ts';
import { runInSlices } from './run-in-slices.ts';

export const explainFreeTime = implement(contract.explainFreeTime, {
  async handle({ account, query, now, prefetch }) {
    const { booking_type, starts_at, staff } = query;
    const request = { accountId: account.id, bookingTypeId: booking_type, staff, from: starts_at, to: starts_at };
    const refusals = prefetch(({ onConnection, withPermit }) =>
      withPermit(offers, 'the calculation of free times', async () => {
        const offer = await onConnection((sql) => loadOffer(sql, request));
        const bookingType = offeredType(offer, staff);
        const rules = { bookingType, zone: account.timezone, now: now.getTime(), startsAt: starts_at.getTime() };
        const codesOf = refusalsAt(rules);
        const each = offer.candidates.values().map((one) => ({ staff: one.id.email, codes: codesOf(one) }));
        return await runInSlices(each);
      }),
    );
    return {
      free: refusals.some(({ codes }) => codes.length === 0),
      reasons: refusals.flatMap(({ staff, codes }) => codes.map((code) => ({ staff, code }))),
    };
  },
});
