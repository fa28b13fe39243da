import { adminOperations } from '@customer-platform/contracts/accounts';
import { fewBytes, readPage, uuidCursor } from '@customer-platform/service-kit';
import { findAccountRow } from '../../accounts/accounts.sql.ts';
import { toKey } from '../../keys/key-shape.ts';
import { findKeyOfAccount, selectKeys } from '../../keys/keys.sql.ts';
import { implement } from '../admin-operation.ts';

/** Lists the keys that were issued to an account, newest first; a sandbox has none. */
export const listKeys = implement(adminOperations.listKeys, {
  find: ({ tx, params }) => findAccountRow(tx, params.account_id),
  async handle({ tx, found, query }) {
    return await readPage(query, {
      position: (cursor) => findKeyOfAccount(tx, found.account_id, uuidCursor(cursor)),
      rows: (after, limit) => selectKeys(tx, found.account_id, limit, after),
      bytes: fewBytes,
      item: (row) => toKey(row, found.timezone),
      cursor: 'id',
    });
  },
});
