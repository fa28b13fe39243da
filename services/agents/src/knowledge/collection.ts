import type { Collection } from '@customer-platform/contracts/agents';
import { ApiError } from '@customer-platform/contracts/core';
import type { Sql } from '@customer-platform/service-kit';
import { type CollectionRow, holdCollection, openCollections } from './collections.sql.ts';

/** What the API shows of a collection. */
export function toCollection({ id, name }: CollectionRow): Collection {
  return { id, name };
}

/**
 * The collection that a body names, or General where it names none; it stays until the transaction ends. Throws invalid_request, field
 * collection, where the account has none with this id.
 */
export async function collectionOf(tx: Sql, accountId: string, id: number | undefined): Promise<CollectionRow> {
  const held = await holdCollection(tx, accountId, id);
  if (held) return held;
  if (id !== undefined) throw unknownCollection();
  await openCollections(tx, accountId);
  return (await holdCollection(tx, accountId, undefined))!;
}

/** The refusal of a collection that is none of this account. */
export function unknownCollection(): ApiError {
  return new ApiError('invalid_request', 'collection must be the id of a collection of this account', {
    field: 'collection',
  });
}
