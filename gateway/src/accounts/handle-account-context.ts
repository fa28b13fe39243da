import { getAccountContext } from '@customer-platform/contracts/core';
import { handleRequest } from '@customer-platform/service-kit';
import { toContext } from './account-shape.ts';
import { findAccountRow } from './accounts.sql.ts';

/** Tells a service what account it works for when no request told it. */
export const handleAccountContext = handleRequest(getAccountContext, async ({ sql, accountId }) => {
  const row = await findAccountRow(sql, accountId);
  return { account: row ? toContext(row) : null };
});
