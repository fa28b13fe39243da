import { adminOperations } from '@customer-platform/contracts/accounts';
import { badCursor, toPage, uuidCursor } from '@customer-platform/service-kit';
import { findAccountRow } from '../accounts/accounts.sql.ts';
import { implement } from '../admin-operation.ts';
import { toMember } from './member-shape.ts';
import { findMember, selectMembers } from './members.sql.ts';

/** Lists an account's team, newest first, those who left too. */
export const listMembers = implement(adminOperations.listMembers, {
  find: ({ tx, params }) => findAccountRow(tx, params.account_id),
  async handle({ tx, found, query }) {
    const { limit, starting_after } = query;
    const after =
      starting_after === undefined ? undefined : await findMember(tx, found.account_id, uuidCursor(starting_after));
    if (starting_after !== undefined && !after) throw badCursor();
    return toPage(await selectMembers(tx, found.account_id, limit, after), limit, toMember, (row) => row.id);
  },
});
