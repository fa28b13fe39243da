import { getMember } from '@customer-platform/contracts/accounts';
import { handleRequest } from '@customer-platform/service-kit';
import { findMemberByEmail } from './members.sql.ts';

/** Returns the member of an account's team with an email address, a former one too. */
export const handleMember = handleRequest(getMember, async ({ sql, accountId }, { email }) => {
  return { member: (await findMemberByEmail(sql, accountId, email.trim().toLowerCase())) ?? null };
});
