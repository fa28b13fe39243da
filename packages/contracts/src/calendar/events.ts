import { z } from 'zod';
import { eventsOf, previous } from '../core/event.ts';
import { AppointmentWithHistory, reminderChannel } from './resources.ts';

const { publicEvent, internalEvent } = eventsOf('calendar');
const changed = z.object({
  appointment: AppointmentWithHistory.meta({ description: 'The appointment after the change, with its history.' }),
  previous,
});

export const appointmentBooked = publicEvent(
  'appointment.booked',
  z.object({ appointment: AppointmentWithHistory }),
  'An appointment was booked.',
);
export const appointmentRescheduled = publicEvent(
  'appointment.rescheduled',
  changed,
  'An appointment was moved to another time, another teammate, or both.',
);
export const appointmentUpdated = publicEvent(
  'appointment.updated',
  changed,
  'The location, meeting link or mode of an appointment changed. A change of the notes alone sends no event.',
);
export const appointmentConfirmed = publicEvent(
  'appointment.confirmed',
  changed,
  'A requested appointment was confirmed.',
);
export const appointmentCompleted = publicEvent('appointment.completed', changed, 'An appointment was completed.');
export const appointmentCancelled = publicEvent(
  'appointment.cancelled',
  changed,
  'An appointment was canceled. Its time is free again.',
);
export const appointmentNoShow = publicEvent('appointment.no_show', changed, 'The contact did not come.');

/** It is time to send the contact a confirmation of a booking or a new time. */
export const confirmationDue = internalEvent(
  'confirmation.due',
  z.object({
    appointment: AppointmentWithHistory,
    channel: reminderChannel,
    reason: z.enum(['booked', 'rescheduled']),
  }),
);

/** It is time to send the contact a reminder. */
export const reminderDue = internalEvent(
  'reminder.due',
  z.object({ appointment: AppointmentWithHistory, channel: reminderChannel, minutes_before: z.int() }),
);
