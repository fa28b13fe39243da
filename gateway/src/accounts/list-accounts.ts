import { adminOperations } from '@customer-platform/contracts/accounts';
import { readPage, type Sql, uuidCursor } from '@customer-platform/service-kit';
import { implement } from '../admin-operation.ts';
import { toAccount } from './account-shape.ts';
import { findAccountRow, selectAccounts } from './accounts.sql.ts';

/** Lists accounts, newest first. */
export const listAccounts = implement(adminOperations.listAccounts, {
  async handle({ tx, query }) {
    return await readPage(query, {
      position: (cursor) => findParent(tx, uuidCursor(cursor)),
      rows: (after, limit) => selectAccounts(tx, limit, after),
      item: toAccount,
      cursor: 'account_id',
    });
  },
});

async function findParent(tx: Sql, id: string) {
  const row = await findAccountRow(tx, id);
  return row?.parent_id === null ? row : undefined;
}
