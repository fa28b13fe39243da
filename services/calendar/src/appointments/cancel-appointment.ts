import * as contract from '@customer-platform/contracts/calendar';
import { implement } from '../implement.ts';
import { toAppointment } from './appointment.ts';
import { lockAppointment } from './appointments.sql.ts';
import { changeStatus, checkStatus } from './change-status.ts';

export const cancelAppointment = implement(contract.cancelAppointment, {
  find: ({ account, tx, params }) => lockAppointment(tx, account.id, params.appointment_id),
  async handle({ account, tx, body, found, now, emit }) {
    if (found.status === 'cancelled') return toAppointment(found, account.timezone);
    checkStatus(found, ['requested', 'confirmed'], 'cancelled');
    const { after, change } = await changeStatus({ account, tx, found, now }, 'cancelled', body.reason);
    emit(contract.appointmentCancelled, change);
    return toAppointment(after, account.timezone);
  },
});
