import { reminderDue } from '@customer-platform/contracts/calendar';
import type { Job } from '@customer-platform/service-kit';
import { toAppointmentWithHistory } from './appointment.ts';
import { takeDueReminders } from './due-reminders.sql.ts';

const batchSize = 200;

/** Emits the reminders that are due; the messages themselves are another service's. */
export const emitDueReminders: Job<unknown> = {
  name: 'emit-due-reminders',
  everyMs: 1_000,
  async run({ tx, now, emit, findAccounts, log }) {
    const due = await takeDueReminders(tx, now, batchSize);
    const accounts = findAccounts(due.map((reminder) => reminder.account_id));
    for (const { account_id, channel, minutes_before, ...row } of due) {
      const account = accounts.get(account_id);
      if (account) {
        const appointment = toAppointmentWithHistory(row, account.timezone);
        emit(reminderDue, account, { appointment, channel, minutes_before });
      } else log.error({ account: account_id, appointment: row.id }, 'a reminder belongs to no account; it is dropped');
    }
    return due.length === batchSize;
  },
};
