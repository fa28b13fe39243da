import { reminderDue } from '@customer-platform/contracts/calendar';
import { sendAppointmentTexts } from './appointment-texts.ts';

export const onReminderDue = sendAppointmentTexts(reminderDue, () => 'appointment_reminder');
