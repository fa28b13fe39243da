import type { BookingType, Settings } from '@customer-platform/contracts/calendar';

const minuteMs = 60_000;

/** A reminder of a contact that is due at `dueAt`. */
export interface Reminder {
  channel: Settings['confirmation']['channel'];
  minutesBefore: number;
  dueAt: Date;
}

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
  const dated = reminders.map(({ minutes_before, channel }): Reminder => {
    const dueAt = new Date(startsAt.getTime() - minutes_before * minuteMs);
    return { channel, minutesBefore: minutes_before, dueAt };
  });
  return dated.filter(({ dueAt }) => dueAt > now);
}
