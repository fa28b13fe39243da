import { confirmationDue } from '@customer-platform/contracts/calendar';
import { tellContacts } from './tell-contacts.ts';

export const onConfirmationDue = tellContacts(confirmationDue, ({ reason }) =>
  reason === 'booked' ? 'appointment_booked' : 'appointment_rescheduled',
);
