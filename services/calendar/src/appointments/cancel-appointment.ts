import * as contract from '@customer-platform/contracts/calendar';
import { implement } from '../implement.ts';
import { toAppointment } from './appointment.ts';
import { lockAppointment } from './appointments.sql.ts';
import { changeStatus } from './change-status.ts';

export const cancelAppointment = implement(contract.cancelAppointment, {
  find: ({ account, tx, params }) => lockAppointment(tx, account.id, params.appointment_id),
  async handle({ account, tx, body, found, now, emit, fail }) {
    if (found.status === 'cancelled') return toAppointment(found, account.timezone);
    if (found.status !== 'requested' && found.status !== 'confirmed') {
      return fail(
        'invalid_state',
        `The appointment is ${found.status}; only a requested or confirmed one can be cancelled`,
      );
    }
    const { after, change } = await changeStatus(tx, account, found, 'cancelled', body.reason, now);
    emit(contract.appointmentCancelled, change);
    return toAppointment(after, account.timezone);
  },
});
