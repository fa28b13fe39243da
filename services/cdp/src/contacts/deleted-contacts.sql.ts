import type { Fragment, Sql } from '@customer-platform/service-kit';

/** A deleted contact that may still have rows in other tables. */
interface DeletedContact {
  account_id: string;
  contact_id: string;
}

/** Tables with rows of contacts, and the column with the contact's id. The keys name parts of a statement, so none is the name of a table. */
const dependents = {
  events: ['contact_events', 'contact_id'],
  said: ['consents', 'contact_id'],
  states: ['consent_states', 'contact_id'],
  olderPairs: ['duplicates', 'older_id'],
  newerPairs: ['duplicates', 'newer_id'],
} as const;

type Dependents = keyof typeof dependents;
const all = Object.keys(dependents) as Dependents[];

interface Part {
  accountId: string;
  /** Selects the ids of the contacts. */
  ids: Fragment;
  limit: number;
}

/** Selects rows of contacts. A pair of two of these contacts counts as an older pair only. */
function rowsOf(sql: Sql, name: Dependents, { accountId, ids }: Omit<Part, 'limit'>): Fragment {
  const [table, column] = dependents[name];
  const others = name === 'newerPairs' ? sql`and older_id not in (${ids})` : sql``;
  return sql`from ${sql(table)} where account_id = ${accountId} and ${sql(column)} = any(array(${ids})) ${others}`;
}

function deletePart(sql: Sql, name: Dependents, part: Part, lock: Fragment): Fragment {
  const places = sql`select ctid ${rowsOf(sql, name, part)} limit ${part.limit} ${lock}`;
  return sql`delete from ${sql(dependents[name][0])} where ctid = any(array(${places}))`;
}

/** Parts of a statement that deletes at most `limit` rows of each kind. The last part queues the contacts that have more. */
export function deleteDependents(sql: Sql, part: Part): Fragment {
  const deletions = all.map((name) => sql`${sql(name)} as (${deletePart(sql, name, part, sql``)})`);
  const hasMore = all.map((name) => sql`exists (select ${rowsOf(sql, name, part)} offset ${part.limit})`);
  return sql`${deletions.reduce((before, next) => sql`${before}, ${next}`)}, noted as (
    insert into deleted_contacts (account_id, contact_id) select ${part.accountId}, id from (${part.ids}) as gone
    where ${hasMore.reduce((before, next) => sql`${before} or ${next}`)})`;
}

/** Returns and locks the deleted contact that has waited the longest. */
export async function takeDeletedContact(tx: Sql): Promise<DeletedContact | undefined> {
  const [row] = await tx<DeletedContact[]>`
    select account_id, contact_id from deleted_contacts order by position limit 1 for update skip locked`;
  return row;
}

/**
 * Deletes at most `limit` rows of each kind of a deleted contact, without locked ones. Removes its queue entry if no rows are left, else moves it to
 * the end. Returns whether anything was deleted.
 */
export async function deleteNextRows(tx: Sql, { account_id, contact_id }: DeletedContact, limit: number) {
  const part = { accountId: account_id, ids: tx`select ${contact_id}::uuid`, limit };
  let deleted = 0;
  for (const name of all) deleted += (await tx`${deletePart(tx, name, part, tx`for update skip locked`)}`).count;
  const left = all.map((name) => tx`exists (select ${rowsOf(tx, name, part)})`);
  const note = tx`account_id = ${account_id} and contact_id = ${contact_id}`;
  const finished = await tx`
    delete from deleted_contacts where ${note} and not (${left.reduce((before, next) => tx`${before} or ${next}`)})`;
  if (finished.count === 0) await tx`update deleted_contacts set position = default where ${note}`;
  return deleted + finished.count > 0;
}
