import type { Appointment, AppointmentWithHistory } from '@customer-platform/contracts/calendar';
import { changedValues, formatInstant } from '@customer-platform/service-kit';
import type { AppointmentRow, AppointmentRowWithHistory } from './appointments.sql.ts';

/** Returns an appointment as responses show it, with times in the account's zone. */
export function toAppointment(row: AppointmentRow, timezone: string): Appointment {
  const { id, title, status, mode, location, meeting_link, notes, source } = row;
  return {
    id,
    title,
    status,
    booking_type: { id: row.booking_type_id, name: title },
    contact: { id: row.contact_id, name: row.contact_name, phone: row.contact_phone },
    staff: { name: row.staff_name, email: row.staff_email },
    starts_at: formatInstant(row.starts_at, timezone),
    ends_at: formatInstant(row.ends_at, timezone),
    mode,
    location,
    meeting_link,
    notes,
    source,
    deal: row.deal_id,
    created_at: formatInstant(row.created_at, timezone),
    updated_at: formatInstant(row.updated_at, timezone),
  };
}

/** Returns an appointment with its history, oldest first. */
export function toAppointmentWithHistory(row: AppointmentRowWithHistory, timezone: string): AppointmentWithHistory {
  const history = row.history.map(({ kind, summary, at }) => ({ kind, summary, at: formatInstant(at, timezone) }));
  return { ...toAppointment(row, timezone), history };
}

/** Returns the data of a change event: the appointment after the change, and the former values of changed fields. */
export function changeOf(before: AppointmentRowWithHistory, after: AppointmentRowWithHistory, timezone: string) {
  const appointment = toAppointmentWithHistory(after, timezone);
  const former: Appointment = { ...toAppointment(before, timezone), updated_at: appointment.updated_at };
  return { appointment, previous: changedValues(former, appointment) ?? {} };
}
