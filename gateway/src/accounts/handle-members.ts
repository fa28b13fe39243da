import { findMembers } from '@customer-platform/contracts/accounts';
import { handleRequest, type RequestCall } from '@customer-platform/service-kit';
import type { AskedIn } from '../cells/cells.ts';
import { findCell } from './accounts.sql.ts';
import { findMembersByEmail } from './members.sql.ts';

/** Returns to services of the account's cell the members of an account's team with these email addresses, former ones too. */
export const handleMembers = handleRequest(
  findMembers,
  async ({ sql, accountId, resources }: RequestCall<AskedIn>, { emails }) => {
    if ((await findCell(sql, accountId)) !== resources.cell) return { members: [] };
    return { members: await findMembersByEmail(sql, accountId, emails) };
  },
);
