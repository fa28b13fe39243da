import type * as contract from '@customer-platform/contracts/accounts';
import { findMembers, getMember } from '@customer-platform/contracts/accounts';
import { getAccountContext } from '@customer-platform/contracts/core';
import { handleRequest, type RepliesTo } from '@customer-platform/service-kit';
import { toContext } from './account-shape.ts';
import { findAccountRow } from './accounts.sql.ts';
import { findMembersByEmail } from './members.sql.ts';

/** Returns an account's context to a service without a request to read it from. Null means no such account; services then drop its work. */
const handleAccountContext = handleRequest(getAccountContext, async ({ sql, accountId }) => {
  const row = await findAccountRow(sql, accountId);
  return { account: row ? toContext(row) : null };
});

/** Returns the member of an account's team with an email address, including a former one. */
const handleMember = handleRequest(getMember, async ({ sql, accountId }, { email }) => {
  const [member] = await findMembersByEmail(sql, accountId, [email.trim().toLowerCase()]);
  return { member: member ?? null };
});

/** Returns the members of an account's team with these email addresses, including former ones. */
const handleMembers = handleRequest(findMembers, async ({ sql, accountId }, { emails }) => ({
  members: await findMembersByEmail(sql, accountId, emails),
}));

/** The gateway's replies to requests of services. */
export const internalRequests: RepliesTo<typeof contract, unknown> = {
  getAccountContext: handleAccountContext,
  getMember: handleMember,
  findMembers: handleMembers,
};
