import type { Fragment, KeyedRows, Sql } from '@customer-platform/service-kit';
import {
  type AppointmentRowWithHistory,
  columns,
  datedHistory,
  history,
  joins,
  type Reminder,
} from './appointments.sql.ts';

/** A due reminder with its current appointment. */
export interface DueReminder extends AppointmentRowWithHistory {
  account_id: string;
  channel: Reminder['channel'];
  minutes_before: number;
}

/** Reminders by due time. */
export const dueReminders: KeyedRows = {
  name: 'reminders',
  key: { account_id: 'uuid', appointment_id: 'uuid', id: 'bigint' },
  due: 'due_at',
};

/**
 * Approximate limit for the histories in a batch, in bytes. Each event contains the whole history, up to 256 KiB, and reading and writing them blocks
 * the event loop.
 */
const maxBatchBytes = 4_194_304;

/** Reminders of one batch, earliest first. `isCut` is true if selected reminders are left over because of the size limit. */
export interface ReminderBatch {
  rows: DueReminder[];
  isCut: boolean;
}

/**
 * Of the reminders that `due` selects and locks, deletes and returns as many as fit into about 4 MiB of histories, at least one: the first of each
 * account before the second ones. Returns them by due time. Write their events in the same transaction, so that each is emitted once.
 */
export async function takeDueReminders(tx: Sql, due: Fragment): Promise<ReminderBatch> {
  const rows = await tx<TakenReminder[]>`
    with recursive picked as materialized (${due}), ranked as materialized (
      select account_id, appointment_id, id, nth, row_number() over (order by nth, account_id) as place from (
        select r.account_id, r.appointment_id, r.id, row_number() over (partition by r.account_id order by r.due_at, r.id) as nth
        from picked join reminders r using (account_id, appointment_id, id)
      ) as numbered
    ), taken as (
      -- Recursive, so that no history beyond the first one that exceeds the limit is read.
      select ranked.*, told.history, octet_length(told.history::text) as bytes
      from ranked cross join lateral ${historyOf(tx, 'ranked')} as told where place = 1
      union all
      select ranked.*, told.history, taken.bytes + octet_length(told.history::text)
      from taken join ranked on ranked.place = taken.place + 1 cross join lateral ${historyOf(tx, 'ranked')} as told
      where taken.bytes + octet_length(told.history::text) <= ${maxBatchBytes}
    ), gone as (
      delete from reminders r using taken
      where r.account_id = taken.account_id and r.appointment_id = taken.appointment_id and r.id = taken.id
      returning r.*, taken.history
    )
    select gone.account_id, gone.channel, gone.minutes_before, gone.history,
      (select count(*) from ranked) as selected, ${columns(tx)}
    from gone join appointments a on a.account_id = gone.account_id and a.id = gone.appointment_id ${joins(tx)}
    order by gone.due_at, gone.id`;
  return {
    rows: rows.map(({ selected, ...row }) => ({ ...row, history: datedHistory(row.history) })),
    isCut: rows.length > 0 && rows.length < rows[0]!.selected,
  };
}

interface TakenReminder extends Omit<DueReminder, 'history'> {
  history: Parameters<typeof datedHistory>[0];
  /** The number of selected reminders. */
  selected: number;
}

const historyOf = (tx: Sql, reminder: string) => tx`
  (select ${history(tx)} from (select ${tx(reminder)}.account_id, ${tx(reminder)}.appointment_id as id) as a)`;
