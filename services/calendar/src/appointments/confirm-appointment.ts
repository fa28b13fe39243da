import * as contract from '@customer-platform/contracts/calendar';
import { implement } from '../implement.ts';
import { toAppointment } from './appointment.ts';
import { lockAppointment } from './appointments.sql.ts';
import { changeStatus } from './change-status.ts';

export const confirmAppointment = implement(contract.confirmAppointment, {
  find: ({ account, tx, params }) => lockAppointment(tx, account.id, params.appointment_id),
  async handle({ account, tx, found, now, emit, fail }) {
    if (found.status === 'confirmed') return toAppointment(found, account.timezone);
    if (found.status !== 'requested')
      return fail('invalid_state', `The appointment is ${found.status}; only a requested one can be confirmed`);
    const { after, change } = await changeStatus(tx, account, found, 'confirmed', '', now);
    emit(contract.appointmentConfirmed, change);
    return toAppointment(after, account.timezone);
  },
});
