import * as contract from '@customer-platform/contracts/calendar';
import { badCursor, formatInstant, toPage, uuidCursor } from '@customer-platform/service-kit';
import { implement } from '../implement.ts';
import { selectStaff } from './staff.sql.ts';
import { listTimeOffRows, selectTimeOff, type TimeOffRow } from './time-off.sql.ts';

export const listTimeOff = implement(contract.listTimeOff, {
  find: ({ account, tx, params }) => selectStaff(tx, account.id, params.email),
  async handle({ account, tx, query, found }) {
    const { limit, starting_after: cursor } = query;
    const last = cursor === undefined ? null : await selectTimeOff(tx, account.id, found.id, uuidCursor(cursor));
    if (last === undefined) throw badCursor();
    const rows = await listTimeOffRows(tx, account.id, found.id, last, limit + 1);
    return toPage(
      rows,
      limit,
      (row) => toTimeOff(row, account.timezone),
      (row) => row.id,
    );
  },
});

/** Time off as answers show it, in the account's zone. */
export function toTimeOff(row: TimeOffRow, timezone: string): contract.TimeOff {
  const { id, starts_at, ends_at, reason } = row;
  return { id, from: formatInstant(starts_at, timezone), to: formatInstant(ends_at, timezone), reason };
}
