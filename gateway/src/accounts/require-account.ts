import { ApiError } from '@customer-platform/contracts/core';
import type { Sql } from '@customer-platform/service-kit';
import { findAccountRow } from './accounts.sql.ts';

/** Throws 404 where a request names an account that there is not. */
export async function requireAccount(sql: Sql, account: string | undefined): Promise<void> {
  if (account !== undefined && !(await findAccountRow(sql, account)))
    throw new ApiError('not_found', `There is no account ${account}`);
}
