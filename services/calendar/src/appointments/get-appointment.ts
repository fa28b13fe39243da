import * as contract from '@customer-platform/contracts/calendar';
import { implement } from '../implement.ts';
import { toAppointmentWithHistory } from './appointment.ts';
import { selectAppointment } from './appointments.sql.ts';

export const getAppointment = implement(contract.getAppointment, {
  find: ({ account, tx, params }) => selectAppointment(tx, account.id, params.appointment_id),
  handle: async ({ account, found }) => toAppointmentWithHistory(found, account.timezone),
});
