import type { BookingType, Settings } from '@customer-platform/contracts/calendar';
import { minuteMs } from '../free-times/local-day.ts';

/** A reminder of a contact that is due at `due_at`. */
export type Reminder = Settings['reminders'][number] & { due_at: Date };

/**
 * Returns the reminders of an appointment booked or moved at `now`: those of the booking type, or the account's if it
 * has none, that are not due already.
 */
export function remindersOf(
  startsAt: Date,
  now: Date,
  bookingType: Pick<BookingType, 'reminders'>,
  settings: Settings,
): Reminder[] {
  const reminders = bookingType.reminders.length > 0 ? bookingType.reminders : settings.reminders;
  const dated = reminders.map(({ channel, minutes_before }) => {
    return { channel, minutes_before, due_at: new Date(startsAt.getTime() - minutes_before * minuteMs) };
  });
  return dated.filter(({ due_at }) => due_at > now);
}
