import * as contract from '@customer-platform/contracts/calendar';
import { implement } from '../implement.ts';
import { toAppointment } from './appointment.ts';
import { lockAppointment } from './appointments.sql.ts';
import { changeStatus, checkStatus } from './change-status.ts';

export const confirmAppointment = implement(contract.confirmAppointment, {
  find: ({ account, tx, params }) => lockAppointment(tx, account.id, params.appointment_id),
  async handle({ account, tx, found, now, emit }) {
    if (found.status === 'confirmed') return toAppointment(found, account.timezone);
    checkStatus(found, ['requested'], 'confirmed');
    const { after, change } = await changeStatus({ account, tx, found, now }, 'confirmed', '');
    emit(contract.appointmentConfirmed, change);
    return toAppointment(after, account.timezone);
  },
});
