import { reminderDue } from '@customer-platform/contracts/calendar';
import { type AccountContext, ApiError } from '@customer-platform/contracts/core';
import type { Job } from '@customer-platform/service-kit';
import { toAppointmentWithHistory } from './appointment.ts';
import { takeDueReminders } from './due-reminders.sql.ts';

const batchSize = 200;

/**
 * Emits the reminders that are due; the messages themselves are another service's. Those of an account that has Calendar switched off are
 * dropped. Those of a suspended one become messages, which Messages fails with the reason, so that it can be seen what was not sent.
 */
export const emitDueReminders: Job<unknown> = {
  name: 'emit-due-reminders',
  everyMs: 1_000,
  async run({ tx, now, emit, findAccounts, log }) {
    const due = await takeDueReminders(tx, now, batchSize);
    const accounts = findAccounts(due.map((reminder) => reminder.account_id));
    for (const { account_id, channel, minutes_before, ...row } of due) {
      const account = accounts.get(account_id);
      const named = { account: account_id, appointment: row.id };
      if (!account) log.error(named, 'a reminder belongs to no account; it is dropped');
      else if (isSwitchedOff(account)) log.info(named, 'Calendar is switched off: a reminder is dropped');
      else {
        const appointment = toAppointmentWithHistory(row, account.timezone);
        try {
          emit(reminderDue, account, { appointment, channel, minutes_before });
        } catch (error) {
          // A history of before its bound can be more than an event carries; the others of the round are not to wait for it.
          if (!(error instanceof ApiError)) throw error;
          log.error({ ...named, err: error }, 'a reminder is larger than an event can be; it is dropped');
        }
      }
    }
    return due.length === batchSize;
  },
};

/** A suspended account shows no modules, whatever is switched on. */
function isSwitchedOff({ modules, suspended }: AccountContext): boolean {
  return !suspended && !modules.includes('calendar');
}
