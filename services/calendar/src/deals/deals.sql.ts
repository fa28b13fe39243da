import type { Sql } from '@customer-platform/service-kit';

/**
 * Returns whether appointments can belong to the deal, or undefined if the copy does not have it. The deal's deletion waits until this transaction
 * ends, and then includes the new appointment.
 */
export async function holdDeal(tx: Sql, accountId: string, id: string): Promise<boolean | undefined> {
  const [row] = await tx<{ deleted: boolean }[]>`
    select deleted from deals where account_id = ${accountId} and id = ${id} for share`;
  return row && !row.deleted;
}

/** Records that the account has this deal. A recorded deletion stays. */
export async function insertDeal(tx: Sql, accountId: string, id: string) {
  await tx`insert into deals (account_id, id, deleted) values (${accountId}, ${id}, false) on conflict do nothing`;
}

/** Marks a deal as deleted. Appointments no longer show it, without an update of their rows, and new ones cannot belong to it. */
export async function removeDeal(tx: Sql, accountId: string, id: string) {
  await tx`
    insert into deals (account_id, id, deleted) values (${accountId}, ${id}, true)
    on conflict (account_id, id) do update set deleted = true`;
}
