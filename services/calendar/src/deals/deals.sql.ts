import type { Sql } from '@customer-platform/service-kit';

/**
 * Whether appointments can belong to the deal; undefined where the copy does not have it. Until the transaction ends its
 * deletion waits, so that it finds the appointment that is being booked for it.
 */
export async function holdDeal(tx: Sql, accountId: string, id: string): Promise<boolean | undefined> {
  const [row] = await tx<{ deleted: boolean }[]>`
    select deleted from deals where account_id = ${accountId} and id = ${id} for share`;
  return row && !row.deleted;
}

/** Keeps that the account has this deal; a deletion that is known already stays. */
export async function insertDeal(tx: Sql, accountId: string, id: string): Promise<void> {
  await tx`insert into deals (account_id, id, deleted) values (${accountId}, ${id}, false) on conflict do nothing`;
}

/** From now on no appointment can belong to the deal, and none does. */
export async function removeDeal(tx: Sql, accountId: string, id: string): Promise<void> {
  // Two statements: the second sees the bookings that the first one waited for.
  const marked = tx`
    insert into deals (account_id, id, deleted) values (${accountId}, ${id}, true)
    on conflict (account_id, id) do update set deleted = true`.execute();
  const cleared = tx`
    update appointments set deal_id = null where account_id = ${accountId} and deal_id = ${id}`.execute();
  await Promise.all([marked, cleared]);
}
