import { z } from 'zod';
import { email, instant, integerId, text, timezone, uuid } from '../core/fields.ts';
import { operationsOf } from '../core/operation.ts';
import { pageOf, pageQuery, updatedSinceQuery } from '../core/page.ts';
import {
  appointmentBooked,
  appointmentCancelled,
  appointmentCompleted,
  appointmentConfirmed,
  appointmentNoShow,
  appointmentRescheduled,
  appointmentUpdated,
  confirmationDue,
} from './events.ts';
import { dateOrInstant, dateOrInstantRule } from './hours.ts';
import {
  Appointment,
  AppointmentChange,
  AppointmentInput,
  AppointmentWithHistory,
  appointmentPath,
  appointmentStatus,
  Explanation,
  FreeTimes,
} from './resources.ts';

const operation = operationsOf('calendar', 'calendar');
const read = 'calendar:read';
const write = 'calendar:write';

export const bookAppointment = operation('bookAppointment', {
  method: 'POST',
  path: '/v1/calendar/appointments',
  clientName: 'calendar.appointments.create',
  scope: write,
  summary: 'Book an appointment',
  description:
    'Books a contact into a free time. A teammate can have one appointment at a time, including its prep time. The source of the appointment is `api`.',
  body: AppointmentInput,
  status: 201,
  response: Appointment,
  errors: ['slot_taken', 'invalid_state'],
  emits: [appointmentBooked, confirmationDue],
});

export const listAppointments = operation('listAppointments', {
  method: 'GET',
  path: '/v1/calendar/appointments',
  scope: read,
  summary: 'List appointments',
  description: 'Returns appointments without their history, latest start first.',
  query: z.object({
    from: dateOrInstant.optional().meta({
      description: `Only appointments that start at or after this time. ${dateOrInstantRule}`,
    }),
    to: dateOrInstant.optional().meta({
      description: `Only appointments that start before this time. ${dateOrInstantRule}`,
    }),
    status: appointmentStatus.optional().meta({ description: 'Only appointments with this status.' }),
    contact: uuid.optional().meta({
      description: 'Only appointments of the contact with this id, or of contacts merged into it.',
    }),
    staff: email.optional().meta({ description: 'Only appointments with the teammate who has this email address.' }),
    booking_type: integerId.optional().meta({ description: 'Only appointments of the booking type with this id.' }),
    ...updatedSinceQuery,
    ...pageQuery,
  }),
  status: 200,
  response: pageOf(Appointment),
  errors: [],
});

export const getAppointment = operation('getAppointment', {
  method: 'GET',
  path: '/v1/calendar/appointments/{appointment_id}',
  scope: read,
  summary: 'Retrieve an appointment',
  description: 'Returns the appointment with its history.',
  params: appointmentPath,
  status: 200,
  response: AppointmentWithHistory,
  errors: ['not_found'],
});

export const updateAppointment = operation('updateAppointment', {
  method: 'PATCH',
  path: '/v1/calendar/appointments/{appointment_id}',
  scope: write,
  summary: 'Update an appointment',
  description:
    'Changes mode, location, meeting link or notes. Every change except to notes is added to the history and sends `appointment.updated`. To change the time or teammate, reschedule the appointment.',
  params: appointmentPath,
  body: AppointmentChange,
  status: 200,
  response: Appointment,
  errors: ['not_found'],
  emits: [appointmentUpdated],
});

export const rescheduleAppointment = operation('rescheduleAppointment', {
  method: 'POST',
  path: '/v1/calendar/appointments/{appointment_id}/reschedule',
  scope: write,
  summary: 'Reschedule an appointment',
  description: 'Moves a requested or confirmed appointment to another free time, to another teammate, or both.',
  params: appointmentPath,
  body: z.object({
    starts_at: instant.meta({
      description: 'A free start of the booking type. The time of the appointment itself counts as free.',
    }),
    staff: email.optional().meta({ description: 'Email address of the new teammate, who must take the booking type.' }),
  }),
  status: 200,
  response: Appointment,
  errors: ['not_found', 'slot_taken', 'invalid_state'],
  emits: [appointmentRescheduled, confirmationDue],
});

export const confirmAppointment = operation('confirmAppointment', {
  method: 'POST',
  path: '/v1/calendar/appointments/{appointment_id}/confirm',
  scope: write,
  summary: 'Confirm a requested appointment',
  description: 'Confirms an appointment with the status `requested`. A confirmed appointment stays as it is.',
  params: appointmentPath,
  body: z.object({}),
  status: 200,
  response: Appointment,
  errors: ['not_found', 'invalid_state'],
  emits: [appointmentConfirmed],
});

export const completeAppointment = operation('completeAppointment', {
  method: 'POST',
  path: '/v1/calendar/appointments/{appointment_id}/complete',
  scope: write,
  summary: 'Complete an appointment',
  description: 'Completes a requested or confirmed appointment, even before its start. The appointment keeps its time.',
  params: appointmentPath,
  body: z.object({ note: text(200).default('').meta({ description: 'Added to the history.' }) }),
  status: 200,
  response: Appointment,
  errors: ['not_found', 'invalid_state'],
  emits: [appointmentCompleted],
});

export const cancelAppointment = operation('cancelAppointment', {
  method: 'POST',
  path: '/v1/calendar/appointments/{appointment_id}/cancel',
  scope: write,
  summary: 'Cancel an appointment',
  description: 'Cancels a requested or confirmed appointment. Its time is free again immediately.',
  params: appointmentPath,
  body: z.object({ reason: text(200).default('').meta({ description: 'Added to the history.' }) }),
  status: 200,
  response: Appointment,
  errors: ['not_found', 'invalid_state'],
  emits: [appointmentCancelled],
});

export const markNoShow = operation('markNoShow', {
  method: 'POST',
  path: '/v1/calendar/appointments/{appointment_id}/no_show',
  scope: write,
  summary: 'Mark a no-show',
  description: 'Records that the contact did not come. The appointment must be confirmed and must have started.',
  params: appointmentPath,
  body: z.object({ note: text(200).default('').meta({ description: 'Added to the history.' }) }),
  status: 200,
  response: Appointment,
  errors: ['not_found', 'invalid_state'],
  emits: [appointmentNoShow],
});

export const listFreeTimes = operation('listFreeTimes', {
  method: 'GET',
  path: '/v1/calendar/free-times',
  scope: read,
  summary: 'List free times',
  description:
    'Returns the bookable starts in [from, to), earliest first. `from` and `to` are at most 31 days apart. Every listed time can be booked; any other time is refused. `timezone` changes only the offset that is shown.',
  query: z.object({
    booking_type: integerId.meta({ description: 'Id of a booking type that is switched on.' }),
    from: dateOrInstant.optional().meta({ description: `Earliest start; default: now. ${dateOrInstantRule}` }),
    to: dateOrInstant.optional().meta({
      description: `End of the starts, exclusive, at most 31 days after \`from\`; default: 7 days after it. ${dateOrInstantRule}`,
    }),
    staff: email.optional().meta({ description: 'Only free times of the teammate who has this email address.' }),
    timezone: timezone.optional().meta({
      description: "IANA timezone for the offset of the times; default: the account's. The free times are the same.",
    }),
    exclude: uuid.optional().meta({ description: 'Id of an appointment whose own time counts as free.' }),
    limit: z.int().min(1).max(1_000).default(1_000).meta({ description: 'Maximum number of starts per page.' }),
    starting_after: instant.optional().meta({ description: 'The `next` of the previous page: its last `starts_at`.' }),
  }),
  status: 200,
  response: FreeTimes,
  errors: ['invalid_state'],
});

export const explainFreeTime = operation('explainFreeTime', {
  method: 'GET',
  path: '/v1/calendar/free-times/explain',
  scope: read,
  summary: 'Explain a free time',
  description: 'Returns whether a start is free, with the reasons against it for each teammate.',
  query: z.object({
    booking_type: integerId.meta({ description: 'Id of a booking type that is switched on.' }),
    starts_at: instant.meta({ description: 'The start to explain.' }),
    staff: email
      .optional()
      .meta({ description: 'Only the teammate with this email address; default: all who take the booking type.' }),
  }),
  status: 200,
  response: Explanation,
  errors: [],
});
