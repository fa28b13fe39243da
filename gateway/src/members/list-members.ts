import { adminOperations } from '@customer-platform/contracts/accounts';
import { readPage, uuidCursor } from '@customer-platform/service-kit';
import { findAccountRow } from '../accounts/accounts.sql.ts';
import { implement } from '../admin-operation.ts';
import { toMember } from './member-shape.ts';
import { findMember, selectMembers } from './members.sql.ts';

/** Lists an account's team, newest first, former members included. */
export const listMembers = implement(adminOperations.listMembers, {
  find: ({ tx, params }) => findAccountRow(tx, params.account_id),
  async handle({ tx, found, query }) {
    return await readPage(query, {
      position: (cursor) => findMember(tx, found.account_id, uuidCursor(cursor)),
      rows: (after, limit) => selectMembers(tx, found.account_id, limit, after),
      item: toMember,
      cursor: 'id',
    });
  },
});
