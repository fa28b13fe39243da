import { getMember } from '@customer-platform/contracts/accounts';
import { handleRequest, type RequestCall } from '@customer-platform/service-kit';
import type { AskedIn } from '../cells/cells.ts';
import { findCell } from './accounts.sql.ts';
import { findMembersByEmail } from './members.sql.ts';

/** Returns to services of the account's cell the member of an account's team with an email address, a former one too. */
export const handleMember = handleRequest(
  getMember,
  async ({ sql, accountId, resources }: RequestCall<AskedIn>, { email }) => {
    if ((await findCell(sql, accountId)) !== resources.cell) return { member: null };
    const [member] = await findMembersByEmail(sql, accountId, [email.trim().toLowerCase()]);
    return { member: member ?? null };
  },
);
