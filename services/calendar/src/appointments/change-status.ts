import type { AppointmentStatus, HistoryEntry } from '@customer-platform/contracts/calendar';
import { type AccountContext, ApiError } from '@customer-platform/contracts/core';
import type { Sql } from '@customer-platform/service-kit';
import { changeOf } from './appointment.ts';
import { type AppointmentRow, type AppointmentRowWithHistory, changeStatusRow } from './appointments.sql.ts';

type StatusCall = { account: AccountContext; tx: Sql; found: AppointmentRowWithHistory; now: Date };

/** Changes the status of a locked appointment, with a history entry that includes `note`. Returns the changed appointment and the event data. */
export async function changeStatus(
  { account, tx, found, now }: StatusCall,
  status: AppointmentStatus & HistoryEntry['kind'],
  note: string,
) {
  const summary = `Status changed from ${found.status} to ${status}${note === '' ? '' : `: ${note}`}`;
  const entry = { kind: status, summary, at: now };
  const updated_at = await changeStatusRow(tx, account.id, { id: found.id, status }, entry);
  const after = { ...found, status, updated_at, history: [...found.history, entry] };
  return { after, change: changeOf(found, after, account.timezone) };
}

/** Throws invalid_state unless the appointment has one of these statuses. `change` completes "can be …" in the message. */
export function checkStatus({ status }: AppointmentRow, allowed: readonly AppointmentStatus[], change: string): void {
  if (allowed.includes(status)) return;
  const rule = `only a ${allowed.join(' or ')} appointment can be ${change}`;
  throw new ApiError('invalid_state', `The appointment is ${status}; ${rule}`);
}
