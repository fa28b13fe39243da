import { reminderDue } from '@customer-platform/contracts/calendar';
import { type AccountContext, ApiError } from '@customer-platform/contracts/core';
import { batchOf, type Job, RowFinder } from '@customer-platform/service-kit';
import { toAppointmentWithHistory } from './appointment.ts';
import { dueReminders, takeDueReminders } from './due-reminders.sql.ts';

const finder = new RowFinder(dueReminders);
const room = batchOf(200);

/**
 * Emits due reminders; another service sends the messages. Drops reminders of accounts with Calendar switched off. Reminders of a suspended account
 * are emitted: the service Messages records them as failed, which shows what was not sent.
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
      if (!account) log.error(named, 'dropped a reminder of a missing account');
      else if (isSwitchedOff(account)) log.info(named, 'dropped a reminder: Calendar is switched off');
      else {
        const appointment = toAppointmentWithHistory(row, account.timezone);
        try {
          emit(reminderDue, account, { appointment, channel, minutes_before });
        } catch (error) {
          // A history from before its size limit existed can be too large for an event. The rest of the batch must not be affected.
          if (!(error instanceof ApiError)) throw error;
          log.error({ ...named, err: error }, 'dropped a reminder that is too large for an event');
        }
      }
    }
    return hasMore;
  },
};

/** Returns whether Calendar is switched off. A suspended account has no modules, and does not count as switched off. */
function isSwitchedOff({ modules, suspended }: AccountContext): boolean {
  return !suspended && !modules.includes('calendar');
}
