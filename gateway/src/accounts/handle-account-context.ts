import { getAccountContext } from '@customer-platform/contracts/core';
import { handleRequest } from '@customer-platform/service-kit';
import { toContext } from './account-shape.ts';
import { findAccountRow } from './accounts.sql.ts';

/** Returns the context of an account to a service that has no request to read it from. */
export const handleAccountContext = handleRequest(getAccountContext, async ({ sql, accountId }) => {
  const row = await findAccountRow(sql, accountId);
  return { account: row ? toContext(row) : null };
});
