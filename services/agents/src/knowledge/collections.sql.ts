import type { Collection } from '@customer-platform/contracts/agents';
import type { Sql } from '@customer-platform/service-kit';

/** A collection; `is_general`: the one that every account has. */
export interface CollectionRow extends Collection {
  is_general: boolean;
}

const columns = (tx: Sql) => tx`id, name, is_general`;

/** Undefined where the account has none with this id. */
export async function selectCollection(tx: Sql, accountId: string, id: number): Promise<CollectionRow | undefined> {
  const [row] = await tx<CollectionRow[]>`
    select ${columns(tx)} from collections where account_id = ${accountId} and id = ${id}`;
  return row;
}

/** Locks the collection: until the transaction ends no source comes into it, and those that were just coming have come. */
export async function lockCollection(tx: Sql, accountId: string, id: number): Promise<CollectionRow | undefined> {
  const [row] = await tx<CollectionRow[]>`
    select ${columns(tx)} from collections where account_id = ${accountId} and id = ${id} for update`;
  return row;
}

/** The collection that a source is put into, the general one where `id` is undefined; it stays until the transaction ends. */
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

/** Oldest first, after the one with id `afterId`. */
export async function listCollectionRows(
  tx: Sql,
  accountId: string,
  afterId: number,
  limit: number,
): Promise<CollectionRow[]> {
  return await tx<CollectionRow[]>`
    select ${columns(tx)} from collections where account_id = ${accountId} and id > ${afterId} order by id limit ${limit}`;
}

/** Makes the collection General where the account has not got it: of many at once one makes it and the others wait for it. */
export async function openCollections(tx: Sql, accountId: string): Promise<void> {
  await tx`
    insert into collections (account_id, name, is_general)
    select ${accountId}, 'General', true
    where not exists (select from collections where account_id = ${accountId} and is_general)
    on conflict do nothing`;
}

/** Adds a collection; undefined where the account has one with this name, in any case. */
export async function insertCollection(tx: Sql, accountId: string, name: string): Promise<CollectionRow | undefined> {
  const [row] = await tx<CollectionRow[]>`
    insert into collections (account_id, name) values (${accountId}, ${name})
    on conflict do nothing returning ${columns(tx)}`;
  return row;
}

/** Whether a locked collection has sources. */
export async function hasSources(tx: Sql, accountId: string, id: number): Promise<boolean> {
  const [row] = await tx<{ exists: boolean }[]>`
    select exists (select from sources where account_id = ${accountId} and collection_id = ${id}) as exists`;
  return row!.exists;
}

/** Removes a collection, which must have no sources. */
export async function deleteCollectionRow(tx: Sql, accountId: string, id: number): Promise<void> {
  await tx`delete from collections where account_id = ${accountId} and id = ${id}`;
}
