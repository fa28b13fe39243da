import type { Fragment, Sql } from '@customer-platform/service-kit';

/** A deleted contact that may still have events, consents or pairs. */
interface DeletedContact {
  account_id: string;
  contact_id: string;
}

/** Tables with rows of a contact, and the columns that name it. */
const dependents = {
  contact_events: ['contact_id'],
  consents: ['contact_id'],
  duplicates: ['older_id', 'newer_id'],
} as const;

export type DependentTable = keyof typeof dependents;

/** Deletes at most `limit` rows of contacts, whose ids `ids` selects. */
export function deletePart(
  sql: Sql,
  table: DependentTable,
  { accountId, ids, limit }: { accountId: string; ids: Fragment; limit: number },
): Fragment {
  const of = (column: string) =>
    sql`select id from ${sql(table)} where account_id = ${accountId} and ${sql(column)} = any(array(${ids}))`;
  const [first, second] = dependents[table];
  const rows = second ? sql`${of(first)} union all ${of(second)}` : of(first);
  return sql`delete from ${sql(table)} where account_id = ${accountId} and id in (${rows} limit ${limit})`;
}

/** Returns and locks the deleted contact that has waited the longest. */
export async function takeDeletedContact(tx: Sql): Promise<DeletedContact | undefined> {
  const [row] = await tx<DeletedContact[]>`
    select account_id, contact_id from deleted_contacts order by position limit 1 for update skip locked`;
  return row;
}

/** Deletes at most `limit` rows of a deleted contact in each table, and the note where that was all; otherwise the next turn is another's. */
export async function deleteNextRows(
  tx: Sql,
  { account_id, contact_id }: DeletedContact,
  limit: number,
): Promise<void> {
  const part = { accountId: account_id, ids: tx`select ${contact_id}::uuid`, limit };
  let hasMore = false;
  for (const table of Object.keys(dependents) as DependentTable[]) {
    const deleted = await tx`${deletePart(tx, table, part)}`;
    hasMore ||= deleted.count === limit;
  }
  const note = tx`account_id = ${account_id} and contact_id = ${contact_id}`;
  if (hasMore) await tx`update deleted_contacts set position = default where ${note}`;
  else await tx`delete from deleted_contacts where ${note}`;
}
