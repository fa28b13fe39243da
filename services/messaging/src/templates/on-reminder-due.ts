import { reminderDue } from '@customer-platform/contracts/calendar';
import { tellContacts } from './tell-contacts.ts';

export const onReminderDue = tellContacts(reminderDue, () => 'appointment_reminder');
