import type * as contract from '@customer-platform/contracts/accounts';
import { findMembers, getMember } from '@customer-platform/contracts/accounts';
import { getAccountContext } from '@customer-platform/contracts/core';
import { handleRequest, type RepliesTo } from '@customer-platform/service-kit';
import { toContext } from './account-shape.ts';
import { findAccountRow } from './accounts.sql.ts';
import { findMembersByEmail } from './members.sql.ts';

/** Returns the context of an account to a service that has no request to read it from; null where there is none: services drop its work then. */
const handleAccountContext = handleRequest(getAccountContext, async ({ sql, accountId }) => {
  const row = await findAccountRow(sql, accountId);
  return { account: row ? toContext(row) : null };
});

/** Returns the member of an account's team with an email address, a former one too. */
const handleMember = handleRequest(getMember, async ({ sql, accountId }, { email }) => {
  const [member] = await findMembersByEmail(sql, accountId, [email.trim().toLowerCase()]);
  return { member: member ?? null };
});

/** Returns the members of an account's team with these email addresses, former ones too. */
const handleMembers = handleRequest(findMembers, async ({ sql, accountId }, { emails }) => ({
  members: await findMembersByEmail(sql, accountId, emails),
}));

/** Replies to what services ask of the gateway. */
export const internalRequests: RepliesTo<typeof contract, unknown> = {
  getAccountContext: handleAccountContext,
  getMember: handleMember,
  findMembers: handleMembers,
};
