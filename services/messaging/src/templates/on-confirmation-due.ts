import { confirmationDue } from '@customer-platform/contracts/calendar';
import { sendAppointmentTexts } from './appointment-texts.ts';

export const onConfirmationDue = sendAppointmentTexts(confirmationDue, ({ reason }) =>
  reason === 'booked' ? 'appointment_booked' : 'appointment_rescheduled',
);
