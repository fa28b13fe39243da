import * as contract from '@customer-platform/contracts/agents';
import { badCursor, integerCursor, toPage } from '@customer-platform/service-kit';
import { implement } from '../implement.ts';
import { toCollection } from './collection.ts';
import { listCollectionRows, openCollections, selectCollection } from './collections.sql.ts';

export const listCollections = implement(contract.listCollections, {
  async handle({ account, tx, query }) {
    const { limit, starting_after: cursor } = query;
    const last = cursor === undefined ? null : await selectCollection(tx, account.id, integerCursor(cursor));
    if (last === undefined) throw badCursor();
    let rows = await listCollectionRows(tx, account.id, last?.id ?? 0, limit + 1);
    if (rows.length === 0 && last === null) {
      await openCollections(tx, account.id);
      rows = await listCollectionRows(tx, account.id, 0, limit + 1);
    }
    return toPage(rows, limit, toCollection, (row) => row.id);
  },
});
