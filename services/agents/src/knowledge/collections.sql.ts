import type { Collection } from '@customer-platform/contracts/agents';
import type { Sql } from '@customer-platform/service-kit';

/** A collection. `is_general` marks the default collection, which every account has. */
export interface CollectionRow extends Collection {
  is_general: boolean;
}

const columns = (tx: Sql) => tx`id, name, is_general`;

/** Returns a collection, or undefined if the account has none with this id. */
export async function selectCollection(tx: Sql, accountId: string, id: number, lock = tx``) {
  const [row] = await tx<CollectionRow[]>`
    select ${columns(tx)} from collections where account_id = ${accountId} and id = ${id} ${lock}`;
  return row;
}

/** Locks the collection, so that no source is added until the transaction ends. Waits for sources that are being added. */
export const lockCollection = (tx: Sql, accountId: string, id: number) =>
  selectCollection(tx, accountId, id, tx`for update`);

/** Returns a collection, General if `id` is undefined, and locks it against deletion until the transaction ends. */
export async function holdCollection(
  tx: Sql,
  accountId: string,
  id: number | undefined,
): Promise<CollectionRow | undefined> {
  const [row] = await tx<CollectionRow[]>`
    select ${columns(tx)} from collections
    where account_id = ${accountId} and ${id === undefined ? tx`is_general` : tx`id = ${id}`} for key share`;
  return row;
}

/** Returns the collections with an id above `afterId`, oldest first. */
export async function listCollectionRows(
  tx: Sql,
  accountId: string,
  afterId: number,
  limit: number,
): Promise<CollectionRow[]> {
  return await tx<CollectionRow[]>`
    select ${columns(tx)} from collections where account_id = ${accountId} and id > ${afterId} order by id limit ${limit}`;
}

/** Creates the collection General unless the account has it. Concurrent calls wait for the one that creates it. */
export async function ensureGeneralCollection(tx: Sql, accountId: string): Promise<void> {
  await tx`
    insert into collections (account_id, name, is_general)
    select ${accountId}, 'General', true
    where not exists (select from collections where account_id = ${accountId} and is_general)
    on conflict do nothing`;
}

/** Inserts a collection. Returns undefined if the account has a collection with this name, ignoring case. */
export async function insertCollection(tx: Sql, accountId: string, name: string): Promise<CollectionRow | undefined> {
  const [row] = await tx<CollectionRow[]>`
    insert into collections (account_id, name) values (${accountId}, ${name})
    on conflict do nothing returning ${columns(tx)}`;
  return row;
}

/** Returns whether a collection has sources. The caller must have locked the collection. */
export async function hasSources(tx: Sql, accountId: string, id: number): Promise<boolean> {
  const [row] = await tx<{ exists: boolean }[]>`
    select exists (select from sources where account_id = ${accountId} and collection_id = ${id}) as exists`;
  return row!.exists;
}

/** Deletes a collection, which must have no sources. */
export async function deleteCollectionRow(tx: Sql, accountId: string, id: number): Promise<void> {
  await tx`delete from collections where account_id = ${accountId} and id = ${id}`;
}
