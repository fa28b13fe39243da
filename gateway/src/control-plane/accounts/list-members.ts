import { adminOperations } from '@customer-platform/contracts/accounts';
import { fewBytes, hasRow, readPage, uuidPosition } from '@customer-platform/service-kit';
import { findAccountRow } from '../../accounts/accounts.sql.ts';
import { selectMembers } from '../../accounts/members.sql.ts';
import { implement } from '../admin-operation.ts';

/** Lists an account's team, newest first, former members included. */
export const listMembers = implement(adminOperations.listMembers, {
  find: ({ tx, params }) => findAccountRow(tx, params.account_id),
  async handle({ tx, found, query }) {
    return await readPage(query, {
      position: uuidPosition((id) => hasRow(tx, 'members', found.account_id, id)),
      rows: (after, limit) => selectMembers(tx, found.account_id, limit, after),
      bytes: fewBytes,
      item: (member) => member,
      cursor: 'id',
    });
  },
});
