import { confirmationDue, reminderDue } from '@customer-platform/contracts/calendar';
import type { Job } from '@customer-platform/service-kit';
import { toAppointmentWithHistory } from './appointment.ts';
import { takeDueNotices } from './due-notices.sql.ts';

const batchSize = 200;

/** Emits what is due to be told to contacts; the messages themselves are another service's. */
export const emitDueNotices: Job<unknown> = {
  name: 'emit-due-notices',
  everyMs: 1_000,
  async run({ tx, now, emit, findAccount }) {
    const due = await takeDueNotices(tx, now, batchSize);
    for (const { account_id, kind, channel, minutes_before, ...row } of due) {
      const account = await findAccount(account_id);
      const appointment = toAppointmentWithHistory(row, account.timezone);
      if (kind === 'reminder') emit(reminderDue, account, { appointment, channel, minutes_before: minutes_before! });
      else emit(confirmationDue, account, { appointment, channel, reason: kind });
    }
    return due.length === batchSize;
  },
};
