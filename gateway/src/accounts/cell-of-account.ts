import { ApiError } from '@customer-platform/contracts/core';
import type { Sql } from '@customer-platform/service-kit';
import { findCell } from './accounts.sql.ts';

/**
 * Returns the name of the cell that a request is about: that which it names, or that of the account which it names; undefined where it
 * names neither. Throws 404 where there is no such account, and 400 with field cell where the account lives elsewhere.
 */
export async function cellOfRequest(
  sql: Sql,
  { account, cell }: { account?: string | undefined; cell?: string | undefined },
): Promise<string | undefined> {
  if (account === undefined) return cell;
  const own = await findCell(sql, account);
  if (own === undefined) throw new ApiError('not_found', `There is no account ${account}`);
  if (cell !== undefined && cell !== own) {
    const message = `cell must be ${own}, where this account lives, or left out`;
    throw new ApiError('invalid_request', message, { field: 'cell' });
  }
  return own;
}
