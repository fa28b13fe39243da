import { getAccountContext } from '@customer-platform/contracts/core';
import { handleRequest, type RequestCall, serviceUnavailable } from '@customer-platform/service-kit';
import type { AskedIn } from '../cells/cells.ts';
import { toContext } from './account-shape.ts';
import { findAccountRow } from './accounts.sql.ts';

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
