import * as contract from '@customer-platform/contracts/calendar';
import { readPage } from '@customer-platform/service-kit';
import { implement } from '../implement.ts';
import { listStaffRows, selectStaff, toStaff } from './staff.sql.ts';

export const listStaff = implement(contract.listStaff, {
  handle: ({ account, tx, query }) =>
    readPage(query, {
      position: (cursor) => selectStaff(tx, account.id, cursor.toLowerCase()),
      rows: (last, limit) => listStaffRows(tx, account.id, last?.id ?? null, limit),
      bytes: (row) => row.bytes,
      item: (row) => toStaff(row),
      cursor: 'email',
    }),
});
