import { reminderDue } from '@customer-platform/contracts/calendar';
import { type AccountContext, ApiError } from '@customer-platform/contracts/core';
import { batchOf, type Job, RowFinder } from '@customer-platform/service-kit';
import { toAppointmentWithHistory } from './appointment.ts';
import { dueReminders, takeDueReminders } from './due-reminders.sql.ts';

const finder = new RowFinder(dueReminders);
const room = batchOf(200);

/**
 * Emits the due reminders; another service sends the messages. Those of an account that has Calendar switched off are
 * dropped. Those of a suspended one become messages, which Messages fails with the reason, so that it is visible what
 * was not sent.
 */
export const emitDueReminders: Job<unknown> = {
  name: 'emit-due-reminders',
  queue: { queue: 'reminders', rows: dueReminders },
  everyMs: 1_000,
  async run({ tx, now, emit, findAccounts, log }, scope) {
    const { rows, hasMore } = await finder.take({ sql: tx, now, scope, room }, (due) => takeDueReminders(tx, due));
    const accounts = findAccounts(rows.map((reminder) => reminder.account_id));
    for (const { account_id, channel, minutes_before, ...row } of rows) {
      const account = accounts.get(account_id);
      const named = { account: account_id, appointment: row.id };
      if (!account) log.error(named, 'reminder without an account dropped');
      else if (isSwitchedOff(account)) log.info(named, 'Calendar is switched off; reminder dropped');
      else {
        const appointment = toAppointmentWithHistory(row, account.timezone);
        try {
          emit(reminderDue, account, { appointment, channel, minutes_before });
        } catch (error) {
          // A history from before its limit can exceed what an event carries; the rest of the batch must not wait for
          // it.
          if (!(error instanceof ApiError)) throw error;
          log.error({ ...named, err: error }, 'reminder too large for an event; dropped');
        }
      }
    }
    return hasMore;
  },
};

/** Returns whether Calendar is switched off; a suspended account shows no modules, whatever is switched on. */
function isSwitchedOff({ modules, suspended }: AccountContext): boolean {
  return !suspended && !modules.includes('calendar');
}
