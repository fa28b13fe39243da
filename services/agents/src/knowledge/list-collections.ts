import * as contract from '@customer-platform/contracts/agents';
import { fewBytes, integerCursor, readPage } from '@customer-platform/service-kit';
import { implement } from '../implement.ts';
import { toCollection } from './collection.ts';
import { ensureGeneralCollection, listCollectionRows, selectCollection } from './collections.sql.ts';

export const listCollections = implement(contract.listCollections, {
  async handle({ account, tx, query }) {
    return await readPage(query, {
      position: (cursor) => selectCollection(tx, account.id, integerCursor(cursor)),
      rows: async (last, limit) => {
        const rows = await listCollectionRows(tx, account.id, last?.id ?? 0, limit);
        if (rows.length > 0 || last) return rows;
        await ensureGeneralCollection(tx, account.id);
        return await listCollectionRows(tx, account.id, 0, limit);
      },
      bytes: fewBytes,
      item: toCollection,
      cursor: 'id',
    });
  },
});
