import type { BookingType, Settings } from '@customer-platform/contracts/calendar';

const minuteMs = 60_000;

/** Something that a contact is to be told at `dueAt`; `minutesBefore` is null but for reminders. */
export interface Notice {
  kind: 'booked' | 'rescheduled' | 'reminder';
  channel: Settings['confirmation']['channel'];
  minutesBefore: number | null;
  dueAt: Date;
}

/**
 * What a contact is told of an appointment that was booked or moved at `now`: the account's confirmation at once, and the
 * reminders of the booking type, or the account's where it has none, that are not due already.
 */
export function noticesOf(
  kind: 'booked' | 'rescheduled',
  startsAt: Date,
  now: Date,
  bookingType: Pick<BookingType, 'reminders'>,
  settings: Settings,
): Notice[] {
  const { confirmation } = settings;
  const reminders = bookingType.reminders.length > 0 ? bookingType.reminders : settings.reminders;
  const due = reminders.map(({ minutes_before, channel }): Notice => {
    const dueAt = new Date(startsAt.getTime() - minutes_before * minuteMs);
    return { kind: 'reminder', channel, minutesBefore: minutes_before, dueAt };
  });
  return [
    ...(confirmation.enabled ? [{ kind, channel: confirmation.channel, minutesBefore: null, dueAt: now }] : []),
    ...due.filter(({ dueAt }) => dueAt > now),
  ];
}
