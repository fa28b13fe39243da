import type { AppointmentStatus, HistoryEntry } from '@customer-platform/contracts/calendar';
import type { Sql } from '@customer-platform/service-kit';
import { changeOf } from './appointment.ts';
import { type AppointmentRowWithHistory, changeStatusRow } from './appointments.sql.ts';

/**
 * Changes the status of a locked appointment with a history entry that includes `note`. Returns the appointment after
 * it, and the data of the change's event.
 */
export async function changeStatus(
  tx: Sql,
  account: { id: string; timezone: string },
  found: AppointmentRowWithHistory,
  status: AppointmentStatus & HistoryEntry['kind'],
  note: string,
  now: Date,
) {
  const summary = `Status changed from ${found.status} to ${status}${note === '' ? '' : `: ${note}`}`;
  const entry = { kind: status, summary, at: now };
  await changeStatusRow(tx, account.id, found.id, status, entry);
  const after = { ...found, status, updated_at: now, history: [...found.history, entry] };
  return { after, change: changeOf(found, after, account.timezone) };
}
