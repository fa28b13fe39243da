import { getAccountContext } from '@customer-platform/contracts/core';
import { handleRequest, type RequestCall } from '@customer-platform/service-kit';
import type { AskedIn } from '../cells/cells.ts';
import { toContext } from './account-shape.ts';
import { findAccountRow } from './accounts.sql.ts';

/** Returns the context of an account to a service of its cell that has no request to read it from; null to those of other cells. */
export const handleAccountContext = handleRequest(
  getAccountContext,
  async ({ sql, accountId, resources }: RequestCall<AskedIn>) => {
    const row = await findAccountRow(sql, accountId);
    return { account: row?.cell === resources.cell ? toContext(row) : null };
  },
);
