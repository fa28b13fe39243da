import * as contract from '@customer-platform/contracts/calendar';
import { implement } from '../implement.ts';
import { toAppointment } from './appointment.ts';
import { lockAppointment } from './appointments.sql.ts';
import { changeStatus, checkStatus } from './change-status.ts';

export const markNoShow = implement(contract.markNoShow, {
  find: ({ account, tx, params }) => lockAppointment(tx, account.id, params.appointment_id),
  async handle({ account, tx, body, found, now, emit, fail }) {
    if (found.status === 'no_show') return toAppointment(found, account.timezone);
    checkStatus(found, ['confirmed'], 'a no-show');
    if (now < found.starts_at)
      return fail('invalid_state', 'The appointment has not started; it can be marked as a no-show after its start');
    const { after, change } = await changeStatus({ account, tx, found, now }, 'no_show', body.note);
    emit(contract.appointmentNoShow, change);
    return toAppointment(after, account.timezone);
  },
});
