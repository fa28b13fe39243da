import * as contract from '@customer-platform/contracts/calendar';
import { implement } from '../implement.ts';
import { toAppointment } from './appointment.ts';
import { lockAppointment } from './appointments.sql.ts';
import { changeStatus, checkStatus } from './change-status.ts';

export const completeAppointment = implement(contract.completeAppointment, {
  find: ({ account, tx, params }) => lockAppointment(tx, account.id, params.appointment_id),
  async handle({ account, tx, body, found, now, emit }) {
    checkStatus(found, ['requested', 'confirmed'], 'completed');
    const { after, change } = await changeStatus({ account, tx, found, now }, 'completed', body.note);
    emit(contract.appointmentCompleted, change);
    return toAppointment(after, account.timezone);
  },
});
