import { findMembers, getMember } from '@customer-platform/contracts/accounts';
import { getAccountContext } from '@customer-platform/contracts/core';
import { handleRequest, type RequestCall, serviceUnavailable } from '@customer-platform/service-kit';
import type { AskedIn } from '../cells/cells.ts';
import { toContext } from './account-shape.ts';
import { findAccountRow, findCell } from './accounts.sql.ts';
import { findMembersByEmail } from './members.sql.ts';

/**
 * Returns the context of an account to a service of its cell that has no request to read it from. Null means that there is none: services drop its work then.
 * Those of other cells get an error, and wait: a cell may be called otherwise in CELLS by mistake, and its accounts are still theirs.
 */
export const handleAccountContext = handleRequest(
  getAccountContext,
  async ({ sql, accountId, resources }: RequestCall<AskedIn>) => {
    const row = await findAccountRow(sql, accountId);
    if (row && row.cell !== resources.cell)
      throw serviceUnavailable(`account ${accountId} is of the cell ${row.cell}, not of ${resources.cell}`);
    return { account: row ? toContext(row) : null };
  },
);

/** Returns to services of the account's cell the member of an account's team with an email address, a former one too. */
export const handleMember = handleRequest(
  getMember,
  async ({ sql, accountId, resources }: RequestCall<AskedIn>, { email }) => {
    if ((await findCell(sql, accountId)) !== resources.cell) return { member: null };
    const [member] = await findMembersByEmail(sql, accountId, [email.trim().toLowerCase()]);
    return { member: member ?? null };
  },
);

/** Returns to services of the account's cell the members of an account's team with these email addresses, former ones too. */
export const handleMembers = handleRequest(
  findMembers,
  async ({ sql, accountId, resources }: RequestCall<AskedIn>, { emails }) => {
    if ((await findCell(sql, accountId)) !== resources.cell) return { members: [] };
    return { members: await findMembersByEmail(sql, accountId, emails) };
  },
);
