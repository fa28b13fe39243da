import type { AppointmentStatus } from '@customer-platform/contracts/calendar';
import * as contract from '@customer-platform/contracts/calendar';
import { formatInstant } from '@customer-platform/service-kit';
import { refusalsOf } from '../free-times/free-starts.ts';
import { loadOffer } from '../free-times/offer.ts';
import { implement } from '../implement.ts';
import { changeOf, toAppointment } from './appointment.ts';
import {
  type AppointmentRow,
  lockAppointment,
  lockTeammates,
  moveAppointment,
  remindersOf,
} from './appointments.sql.ts';
import { checkStatus } from './change-status.ts';
import { checkHistorySize } from './history-size.ts';
import { slotTakenMessage } from './slot-taken.ts';

const movable: readonly AppointmentStatus[] = ['requested', 'confirmed'];

export const rescheduleAppointment = implement(contract.rescheduleAppointment, {
  find: ({ account, tx, params }) => lockAppointment(tx, account.id, params.appointment_id),
  async handle({ account, tx, body, found, now, emit, fail }) {
    const { starts_at, staff = found.staff_email } = body;
    const startsAt = starts_at.getTime();
    if (movable.includes(found.status) && startsAt === found.starts_at.getTime() && staff === found.staff_email)
      return toAppointment(found, account.timezone);

    await lockTeammates(tx, account.id, [found.staff_email, staff]);
    const window = { from: starts_at, to: starts_at, staff, exclude: found.id };
    const offer = await loadOffer(tx, { accountId: account.id, bookingTypeId: found.booking_type_id, ...window });
    const { bookingType, settings } = offer;
    const candidate = offer.candidates[0];
    if (body.staff !== undefined && !candidate?.id.in_team) {
      return fail('invalid_request', 'staff must be the email of a teammate who takes this booking type', 'staff');
    }
    checkStatus(found, movable, 'moved');
    if (!bookingType || !candidate) {
      return fail('slot_taken', `${staff} no longer takes this booking type; hand the appointment to another teammate`);
    }
    const rules = { bookingType, zone: account.timezone, now: now.getTime(), startsAt };
    const refusals = refusalsOf({ ...rules, candidate });
    if (refusals.length > 0) return fail('slot_taken', slotTakenMessage([refusals], bookingType, account.timezone));

    const move = movedTo(found, starts_at);
    const { id: staff_id, email: staff_email, name: staff_name } = candidate.id;
    const after = { ...found, ...move, staff_id, staff_email, staff_name };
    const summary = `Moved from ${timeAndTeammate(found, account.timezone)} to ${timeAndTeammate(after, account.timezone)}`;
    const entry = { kind: 'rescheduled' as const, summary, at: now };
    after.history = [...found.history, entry];
    checkHistorySize(after.history, startsAt === found.starts_at.getTime() ? 'staff' : 'starts_at');
    const reminders = remindersOf(starts_at, now, bookingType, settings);
    const movedAt = await moveAppointment(tx, account.id, after, { entry, reminders });
    if (!movedAt) return fail('slot_taken', slotTakenMessage([['taken']], bookingType, account.timezone));
    after.updated_at = movedAt;
    const change = changeOf(found, after, account.timezone);
    emit(contract.appointmentRescheduled, change);
    const { enabled, channel } = settings.confirmation;
    if (enabled) emit(contract.confirmationDue, { appointment: change.appointment, channel, reason: 'rescheduled' });
    return toAppointment(after, account.timezone);
  },
});

/** Returns the new times. Duration and preparation time are kept. */
function movedTo(row: AppointmentRow, startsAt: Date): Pick<AppointmentRow, 'blocked_from' | 'starts_at' | 'ends_at'> {
  const byMs = startsAt.getTime() - row.starts_at.getTime();
  return {
    blocked_from: new Date(row.blocked_from.getTime() + byMs),
    starts_at: startsAt,
    ends_at: new Date(row.ends_at.getTime() + byMs),
  };
}

function timeAndTeammate(row: AppointmentRow, timezone: string): string {
  return `${formatInstant(row.starts_at, timezone)} with ${row.staff_name}`;
}
