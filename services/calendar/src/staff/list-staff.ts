import * as contract from '@customer-platform/contracts/calendar';
import { badCursor, toPage } from '@customer-platform/service-kit';
import { implement } from '../implement.ts';
import { listStaffRows, selectStaff, toStaff } from './staff.sql.ts';

export const listStaff = implement(contract.listStaff, {
  async handle({ account, tx, query }) {
    const { limit, starting_after } = query;
    const last = starting_after === undefined ? null : await selectStaff(tx, account.id, starting_after.toLowerCase());
    if (last === undefined) throw badCursor();
    const rows = await listStaffRows(tx, account.id, last?.id ?? null, limit + 1);
    return toPage(rows, limit, toStaff, (row) => row.email);
  },
});
