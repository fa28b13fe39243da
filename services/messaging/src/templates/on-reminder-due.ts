import { reminderDue } from '@customer-platform/contracts/calendar';
import { sendAppointmentTexts } from './tell-contacts.ts';

export const onReminderDue = sendAppointmentTexts(reminderDue, () => 'appointment_reminder');
