import type { Sql } from '@customer-platform/service-kit';

/**
 * Returns whether appointments can belong to the deal, undefined if the copy does not have it. Its deletion waits until
 * the transaction ends, so that it sees the appointment that is being booked for it.
 */
export async function holdDeal(tx: Sql, accountId: string, id: string): Promise<boolean | undefined> {
  const [row] = await tx<{ deleted: boolean }[]>`
    select deleted from deals where account_id = ${accountId} and id = ${id} for share`;
  return row && !row.deleted;
}

/** Records that the account has this deal; a known deletion stays. */
export async function insertDeal(tx: Sql, accountId: string, id: string) {
  await tx`insert into deals (account_id, id, deleted) values (${accountId}, ${id}, false) on conflict do nothing`;
}

/** Marks a deal as deleted: its appointments, which may be very many, show it no longer, and no other can belong to it. */
export async function removeDeal(tx: Sql, accountId: string, id: string) {
  await tx`
    insert into deals (account_id, id, deleted) values (${accountId}, ${id}, true)
    on conflict (account_id, id) do update set deleted = true`;
}
