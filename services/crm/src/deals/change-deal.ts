import type { AccountContext } from '@customer-platform/contracts/core';
import { changedValues, type Sql } from '@customer-platform/service-kit';
import { toDeal } from './deal.ts';
import { type DealRow, updateDealRow } from './deals.sql.ts';

type DealCall = { account: AccountContext; tx: Sql; found: DealRow; now: Date };

/**
 * Updates a locked deal. Returns its event's data: the deal after the update, and the previous values of the changed fields. If no field
 * changes, writes nothing and returns `previous` as undefined.
 */
export async function changeDeal({ account, tx, found, now }: DealCall, values: Partial<DealRow>) {
  const former = toDeal(found, account.timezone);
  const after = { ...found, ...values };
  const previous = changedValues(former, toDeal(after, account.timezone));
  if (!previous) return { deal: former, previous };
  after.updated_at = await updateDealRow(tx, account.id, after, now);
  return { deal: toDeal(after, account.timezone), previous };
}
