import * as contract from '@customer-platform/contracts/calendar';
import { implement } from '../implement.ts';
import { selectStaff, toStaff } from './staff.sql.ts';

export const getStaff = implement(contract.getStaff, {
  find: ({ account, tx, params }) => selectStaff(tx, account.id, params.email),
  handle: async ({ found }) => toStaff(found),
});
