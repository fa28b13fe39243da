import * as contract from '@customer-platform/contracts/calendar';
import { applyPatch } from '@customer-platform/service-kit';
import { implement } from '../implement.ts';
import { changeOf, toAppointment } from './appointment.ts';
import { editAppointment, lockAppointment } from './appointments.sql.ts';
import { checkHistorySize } from './history-size.ts';

const labels = { mode: 'mode', location: 'location', meeting_link: 'meeting link' } as const;

export const updateAppointment = implement(contract.updateAppointment, {
  find: ({ account, tx, params }) => lockAppointment(tx, account.id, params.appointment_id),
  async handle({ account, tx, body, found, now, emit }) {
    const { mode, location, meeting_link, notes } = body;
    const after = applyPatch(found, { mode, location, meeting_link, notes });
    const changed = (Object.keys(labels) as (keyof typeof labels)[]).filter((name) => after[name] !== found[name]);
    if (changed.length === 0 && after.notes === found.notes) return toAppointment(found, account.timezone);
    if (changed.length === 0) {
      after.updated_at = await editAppointment(tx, account.id, after, undefined, now);
      return toAppointment(after, account.timezone);
    }
    const changes = changed.map((name) => `${labels[name]} from ${quoted(found[name])} to ${quoted(after[name])}`);
    const entry = { kind: 'edited' as const, summary: `Changed ${changes.join(' and ')}`, at: now };
    after.history = [...found.history, entry];
    checkHistorySize(after.history, changed[0]!);
    after.updated_at = await editAppointment(tx, account.id, after, entry, now);
    emit(contract.appointmentUpdated, changeOf(found, after, account.timezone));
    return toAppointment(after, account.timezone);
  },
});

function quoted(text: string): string {
  return text === '' ? 'none' : `“${text}”`;
}
