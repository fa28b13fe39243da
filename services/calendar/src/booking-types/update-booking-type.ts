import * as contract from '@customer-platform/contracts/calendar';
import { applyPatch } from '@customer-platform/service-kit';
import { implement } from '../implement.ts';
import { lockBookingType, updateBookingTypeRow } from './booking-types.sql.ts';
import { checkStaff } from './check-staff.ts';

export const updateBookingType = implement(contract.updateBookingType, {
  find: ({ account, tx, params }) => lockBookingType(tx, account.id, params.booking_type_id, 'change'),
  async handle({ account, tx, body, found }) {
    const { staff = found.staff, default_staff = found.default_staff ?? '', ...rest } = body;
    const changed: contract.BookingType = {
      ...applyPatch(found, rest),
      staff: [...new Set(staff)],
      default_staff: default_staff === '' ? null : default_staff,
    };
    await checkStaff(tx, account, changed, { known: found.staff, isDefaultGiven: body.default_staff !== undefined });
    await updateBookingTypeRow(tx, account.id, changed);
    return changed;
  },
});
