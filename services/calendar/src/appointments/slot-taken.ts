import type { BlockedReason } from '@customer-platform/contracts/calendar';
import type { OfferedType } from '../free-times/offer.sql.ts';

/** Returns an error message with the reason why a start is unavailable. `refusals` has the reasons of each eligible teammate. */
export function slotTakenMessage(
  refusals: readonly BlockedReason[][],
  bookingType: OfferedType,
  timezone: string,
): string {
  const notice = bookingType.min_notice_minutes;
  const grid = `a multiple of ${bookingType.slot_interval_minutes} minutes from midnight in ${timezone}`;
  const sentences: Record<BlockedReason, string> = {
    off_grid: `starts_at is off the grid: it must be ${grid}`,
    too_soon: `starts_at is too soon: it must be ${notice === 0 ? 'later than now' : `at least ${notice} minutes from now`}`,
    too_far: `starts_at is too far ahead: it must be at most ${bookingType.window_days} × 24 hours from now`,
    inactive: 'No teammate for this booking type is active',
    outside_hours: 'The time is outside opening hours',
    time_off: 'The time overlaps time off',
    taken: 'The time is no longer free',
  };
  const named = refusals.flat();
  const order: BlockedReason[] = ['off_grid', 'too_soon', 'too_far', 'taken', 'time_off', 'outside_hours', 'inactive'];
  const reason = order.find((refusal) => named.includes(refusal)) ?? (refusals.length === 0 ? 'inactive' : 'taken');
  return `${sentences[reason]}; see the free times of the booking type`;
}
