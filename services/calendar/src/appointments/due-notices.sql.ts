import type { Sql } from '@customer-platform/service-kit';
import { type AppointmentRowWithHistory, columns, datedHistory, history, neighbours } from './appointments.sql.ts';
import type { Notice } from './notices.ts';

/** A notice that is due, with its appointment as it is now. */
export interface DueNotice extends AppointmentRowWithHistory {
  account_id: string;
  kind: Notice['kind'];
  channel: Notice['channel'];
  minutes_before: number | null;
}

/**
 * Takes at most `limit` notices that are due, with their appointments, earliest first. They are gone once the transaction
 * commits, in which their events are written: each is emitted once, however many processes look.
 */
export async function takeDueNotices(tx: Sql, now: Date, limit: number): Promise<DueNotice[]> {
  const rows = await tx<(Omit<DueNotice, 'history'> & { history: Parameters<typeof datedHistory>[0] })[]>`
    with due as (
      delete from notices where (account_id, appointment_id, id) in (
        select account_id, appointment_id, id from notices where due_at <= ${now}
        order by due_at limit ${limit} for update skip locked)
      returning *
    )
    select due.account_id, due.kind, due.channel, due.minutes_before, ${columns(tx)}, ${history(tx)}
    from due join appointments a on a.account_id = due.account_id and a.id = due.appointment_id ${neighbours(tx)}
    order by due.due_at, due.id`;
  return rows.map((row) => ({ ...row, history: datedHistory(row.history) }));
}
