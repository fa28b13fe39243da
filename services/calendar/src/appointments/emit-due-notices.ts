import { confirmationDue, reminderDue } from '@customer-platform/contracts/calendar';
import type { Job } from '@customer-platform/service-kit';
import { toAppointmentWithHistory } from './appointment.ts';
import { takeDueNotices } from './due-notices.sql.ts';

const batchSize = 200;

/** Emits what is due to be told to contacts; the messages themselves are another service's. */
export const emitDueNotices: Job<unknown> = {
  name: 'emit-due-notices',
  everyMs: 1_000,
  async run({ tx, now, emit, findAccounts, log }) {
    const due = await takeDueNotices(tx, now, batchSize);
    const accounts = findAccounts(due.map((notice) => notice.account_id));
    for (const { account_id, kind, channel, minutes_before, ...row } of due) {
      const account = accounts.get(account_id);
      if (!account) {
        log.error({ account: account_id, appointment: row.id }, 'a notice belongs to no account; it is dropped');
        continue;
      }
      const appointment = toAppointmentWithHistory(row, account.timezone);
      if (kind === 'reminder') emit(reminderDue, account, { appointment, channel, minutes_before: minutes_before! });
      else emit(confirmationDue, account, { appointment, channel, reason: kind });
    }
    return due.length === batchSize;
  },
};
