import * as contract from '@customer-platform/contracts/calendar';
import { implement } from '../implement.ts';
import { type BookingTypeValues, insertBookingType } from './booking-types.sql.ts';
import { checkStaff } from './check-staff.ts';

export const createBookingType = implement(contract.createBookingType, {
  async handle({ account, tx, body }) {
    const values: BookingTypeValues = {
      ...body,
      slot_interval_minutes: body.slot_interval_minutes ?? defaultInterval(body.duration_minutes),
      staff: [...new Set(body.staff)],
      default_staff: body.default_staff ?? null,
    };
    await checkStaff(tx, account, values);
    const id = await insertBookingType(tx, account.id, values);
    return { id, ...values };
  },
});

/** Returns the duration or 30 minutes, whichever is smaller, rounded down to a divisor of a day. */
function defaultInterval(durationMinutes: number): number {
  let interval = Math.min(durationMinutes, 30);
  while (1_440 % interval !== 0) interval -= 1;
  return interval;
}
