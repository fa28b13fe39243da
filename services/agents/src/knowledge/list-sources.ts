import * as contract from '@customer-platform/contracts/agents';
import { badCursor, toPage, uuidCursor } from '@customer-platform/service-kit';
import { implement } from '../implement.ts';
import { unknownCollection } from './collection.ts';
import { selectCollection } from './collections.sql.ts';
import { toSource } from './source.ts';
import { hasSource, listSourceRows } from './sources.sql.ts';

export const listSources = implement(contract.listSources, {
  async handle({ account, tx, query }) {
    const { limit, kind, collection, starting_after: cursor } = query;
    if (collection !== undefined && !(await selectCollection(tx, account.id, collection))) throw unknownCollection();
    const lastId = cursor === undefined ? undefined : uuidCursor(cursor);
    if (lastId !== undefined && !(await hasSource(tx, account.id, lastId))) throw badCursor();
    const rows = await listSourceRows(tx, account.id, { kind, collectionId: collection }, lastId, limit + 1);
    return toPage(
      rows,
      limit,
      (row) => toSource(row, account.timezone),
      (row) => row.id,
    );
  },
});
