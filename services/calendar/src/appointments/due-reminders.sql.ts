import type { Fragment, KeyedRows, Sql } from '@customer-platform/service-kit';
import { type AppointmentRowWithHistory, columns, datedHistory, history, joins } from './appointments.sql.ts';
import type { Reminder } from './reminders.ts';

/** A due reminder with its appointment as it is now. */
export interface DueReminder extends AppointmentRowWithHistory {
  account_id: string;
  channel: Reminder['channel'];
  minutes_before: number;
}

/** Reminders by the time at which they are to be sent. */
export const dueReminders: KeyedRows = {
  name: 'reminders',
  key: { account_id: 'uuid', appointment_id: 'uuid', id: 'bigint' },
  due: 'due_at',
};

/**
 * Deletes the reminders that `due` selects and locks, and returns them with their appointments, earliest first. Their events are written in the
 * same transaction: each is emitted once, however many processes poll.
 */
export async function takeDueReminders(tx: Sql, due: Fragment): Promise<DueReminder[]> {
  const rows = await tx<(Omit<DueReminder, 'history'> & { history: Parameters<typeof datedHistory>[0] })[]>`
    with due as (
      delete from reminders where (account_id, appointment_id, id) in (${due}) returning *
    )
    select due.account_id, due.channel, due.minutes_before, ${columns(tx)}, ${history(tx)}
    from due join appointments a on a.account_id = due.account_id and a.id = due.appointment_id ${joins(tx)}
    order by due.due_at, due.id`;
  return rows.map((row) => ({ ...row, history: datedHistory(row.history) }));
}
