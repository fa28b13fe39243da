import { adminOperations } from '@customer-platform/contracts/accounts';
import { toAccount } from '../../accounts/account-shape.ts';
import { findAccountRow } from '../../accounts/accounts.sql.ts';
import { implement } from '../admin-operation.ts';

/** Reads one account, or a sandbox by its own id. */
export const getAccount = implement(adminOperations.getAccount, {
  find: ({ tx, params }) => findAccountRow(tx, params.account_id),
  handle: async ({ found, resources }) => toAccount(found, resources.cells),
});
