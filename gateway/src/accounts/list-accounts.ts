import { adminOperations } from '@customer-platform/contracts/accounts';
import { badCursor, type Sql, toPage, uuidCursor } from '@customer-platform/service-kit';
import { implement } from '../admin-operation.ts';
import { toAccount } from './account-shape.ts';
import { findAccountRow, selectAccounts } from './accounts.sql.ts';

/** Lists accounts, newest first. */
export const listAccounts = implement(adminOperations.listAccounts, {
  async handle({ tx, query }) {
    const after = query.starting_after === undefined ? undefined : await cursorAccount(tx, query.starting_after);
    const rows = await selectAccounts(tx, query.limit, after);
    return toPage(rows, query.limit, toAccount, (row) => row.account_id);
  },
});

async function cursorAccount(tx: Sql, startingAfter: string) {
  const row = await findAccountRow(tx, uuidCursor(startingAfter));
  if (!row || row.parent_id !== null) throw badCursor();
  return row;
}
