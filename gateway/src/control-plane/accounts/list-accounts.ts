import { adminOperations } from '@customer-platform/contracts/accounts';
import { fewBytes, readPage, uuidPosition } from '@customer-platform/service-kit';
import { toAccount } from '../../accounts/account-shape.ts';
import { findAccountRow, selectAccounts } from '../../accounts/accounts.sql.ts';
import { implement } from '../admin-operation.ts';

/** Lists accounts, newest first. */
export const listAccounts = implement(adminOperations.listAccounts, {
  async handle({ tx, query, resources: { cells } }) {
    return await readPage(query, {
      position: uuidPosition(async (id) => (await findAccountRow(tx, id))?.parent_id === null),
      rows: (after, limit) => selectAccounts(tx, limit, after),
      bytes: fewBytes,
      item: (row) => toAccount(row, cells),
      cursor: 'account_id',
    });
  },
});
