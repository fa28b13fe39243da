import * as contract from '@customer-platform/contracts/calendar';
import { fewBytes, formatInstant, readPage, uuidCursor } from '@customer-platform/service-kit';
import { implement } from '../implement.ts';
import { selectStaff } from './staff.sql.ts';
import { listTimeOffRows, selectTimeOff, type TimeOffRow } from './time-off.sql.ts';

export const listTimeOff = implement(contract.listTimeOff, {
  find: ({ account, tx, params }) => selectStaff(tx, account.id, params.email),
  handle: ({ account, tx, query, found }) =>
    readPage(query, {
      position: (cursor) => selectTimeOff(tx, account.id, found.id, uuidCursor(cursor)),
      rows: (after, limit) => listTimeOffRows(tx, account.id, found.id, { after, limit }),
      bytes: fewBytes,
      item: (row) => toTimeOff(row, account.timezone),
      cursor: 'id',
    }),
});

/** Returns time off as responses show it, in the account's zone. */
export function toTimeOff(row: TimeOffRow, timezone: string): contract.TimeOff {
  const { id, starts_at, ends_at, reason } = row;
  return { id, from: formatInstant(starts_at, timezone), to: formatInstant(ends_at, timezone), reason };
}
