import { type AccountContext, ApiError } from '@customer-platform/contracts/core';
import type { Sql } from '@customer-platform/service-kit';
import { type BookingTypeValues, selectTeammates } from './booking-types.sql.ts';

/**
 * Throws invalid_request if `staff` contains an unknown teammate, or if `default_staff` is not in `staff`. `known` are emails that the booking type
 * already has; they may stay even if the teammate left. If the request gave no default, the error names `staff`.
 */
export async function checkStaff(
  tx: Sql,
  account: AccountContext,
  { staff, default_staff }: BookingTypeValues,
  { known = [], isDefaultGiven = true }: { known?: readonly string[]; isDefaultGiven?: boolean } = {},
): Promise<void> {
  const added = staff.filter((email) => !known.includes(email));
  if (added.length > 0) {
    const teammates = await selectTeammates(tx, account.id, added);
    const stranger = added.find((email) => !teammates.has(email));
    if (stranger !== undefined) {
      throw new ApiError('invalid_request', `staff must be emails of teammates who take bookings, not ${stranger}`, {
        field: 'staff',
      });
    }
  }
  if (default_staff !== null && !staff.includes(default_staff)) {
    throw new ApiError('invalid_request', `default_staff must be one of staff, not ${default_staff}`, {
      field: isDefaultGiven ? 'default_staff' : 'staff',
    });
  }
}
