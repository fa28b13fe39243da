import * as contract from '@customer-platform/contracts/calendar';
import { implement } from '../implement.ts';
import { toAppointment } from './appointment.ts';
import { lockAppointment } from './appointments.sql.ts';
import { changeStatus } from './change-status.ts';

export const completeAppointment = implement(contract.completeAppointment, {
  find: ({ account, tx, params }) => lockAppointment(tx, account.id, params.appointment_id),
  async handle({ account, tx, body, found, now, emit, fail }) {
    if (found.status !== 'requested' && found.status !== 'confirmed') {
      return fail(
        'invalid_state',
        `The appointment is ${found.status}; only a requested or confirmed one can be completed`,
      );
    }
    const { after, change } = await changeStatus(tx, account, found, 'completed', body.note, now);
    emit(contract.appointmentCompleted, change);
    return toAppointment(after, account.timezone);
  },
});
