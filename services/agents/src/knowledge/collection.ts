import type { Collection } from '@customer-platform/contracts/agents';
import { ApiError } from '@customer-platform/contracts/core';
import type { Sql } from '@customer-platform/service-kit';
import { type CollectionRow, ensureGeneralCollection, holdCollection, selectCollection } from './collections.sql.ts';

/** Returns a collection as the API shows it. */
export function toCollection({ id, name }: CollectionRow): Collection {
  return { id, name };
}

/**
 * Returns the collection with this id, or General by default, and locks it against deletion until the transaction ends. Throws
 * invalid_request, field collection, if the account has no collection with this id.
 */
export async function collectionOf(tx: Sql, accountId: string, id: number | undefined): Promise<CollectionRow> {
  const locked = await holdCollection(tx, accountId, id);
  if (locked) return locked;
  if (id !== undefined) throw unknownCollection();
  await ensureGeneralCollection(tx, accountId);
  return (await holdCollection(tx, accountId, undefined))!;
}

/** Throws invalid_request, field collection, if the account has no collection with this id. */
export async function refuseUnknownCollection(tx: Sql, accountId: string, id: number | undefined): Promise<void> {
  if (id !== undefined && !(await selectCollection(tx, accountId, id))) throw unknownCollection();
}

function unknownCollection(): ApiError {
  return new ApiError('invalid_request', 'collection must be the id of a collection of this account', {
    field: 'collection',
  });
}
