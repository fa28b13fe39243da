import { adminOperations } from '@customer-platform/contracts/accounts';
import { badCursor, toPage, uuidCursor } from '@customer-platform/service-kit';
import { findAccountRow } from '../accounts/accounts.sql.ts';
import { implement } from '../admin-operation.ts';
import { toKey } from './key-shape.ts';
import { findKeyOfAccount, selectKeys } from './keys.sql.ts';

/** Lists the keys that were issued to an account, newest first; a sandbox has none. */
export const listKeys = implement(adminOperations.listKeys, {
  find: ({ tx, params }) => findAccountRow(tx, params.account_id),
  async handle({ tx, found, query }) {
    const { limit, starting_after } = query;
    const after =
      starting_after === undefined
        ? undefined
        : await findKeyOfAccount(tx, found.account_id, uuidCursor(starting_after));
    if (starting_after !== undefined && !after) throw badCursor();
    const rows = await selectKeys(tx, found.account_id, limit, after);
    return toPage(
      rows,
      limit,
      (row) => toKey(row, found.timezone),
      (row) => row.id,
    );
  },
});
