import { getMember } from '@customer-platform/contracts/accounts';
import { handleRequest } from '@customer-platform/service-kit';
import { toMember } from './member-shape.ts';
import { findMemberByEmail } from './members.sql.ts';

/** Tells a service who has an address in an account's team, those who left too. */
export const handleMember = handleRequest(getMember, async ({ sql, accountId }, { email }) => {
  const row = await findMemberByEmail(sql, accountId, email.trim().toLowerCase());
  return { member: row ? toMember(row) : null };
});
