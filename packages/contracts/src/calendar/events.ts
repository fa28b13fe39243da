import { z } from 'zod';
import { eventsOf, previous } from '../core/event.ts';
import { AppointmentWithHistory, reminderChannel } from './resources.ts';

const { publicEvent, internalEvent } = eventsOf('calendar');
const changed = z.object({ appointment: AppointmentWithHistory, previous });

export const appointmentBooked = publicEvent('appointment.booked', z.object({ appointment: AppointmentWithHistory }));
export const appointmentRescheduled = publicEvent('appointment.rescheduled', changed);
export const appointmentUpdated = publicEvent('appointment.updated', changed);
export const appointmentConfirmed = publicEvent('appointment.confirmed', changed);
export const appointmentCompleted = publicEvent('appointment.completed', changed);
export const appointmentCancelled = publicEvent('appointment.cancelled', changed);
export const appointmentNoShow = publicEvent('appointment.no_show', changed);

/** A confirmation of a booking or a new time is due to the contact. */
export const confirmationDue = internalEvent(
  'confirmation.due',
  z.object({
    appointment: AppointmentWithHistory,
    channel: reminderChannel,
    reason: z.enum(['booked', 'rescheduled']),
  }),
);

/** A reminder is due to the contact. */
export const reminderDue = internalEvent(
  'reminder.due',
  z.object({ appointment: AppointmentWithHistory, channel: reminderChannel, minutes_before: z.int() }),
);
