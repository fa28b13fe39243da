import * as contract from '@customer-platform/contracts/calendar';
import { implement } from '../implement.ts';
import { selectStaff } from './staff.sql.ts';
import { deleteTimeOffRow } from './time-off.sql.ts';

export const deleteTimeOff = implement(contract.deleteTimeOff, {
  find: ({ account, tx, params }) => selectStaff(tx, account.id, params.email),
  async handle({ account, tx, params, found, fail }) {
    const deleted = await deleteTimeOffRow(tx, account.id, found.id, params.time_off_id);
    if (!deleted) return fail('not_found', 'This teammate has no such time off');
    return undefined;
  },
});
