import * as contract from '@customer-platform/contracts/agents';
import { readPage, uuidPosition } from '@customer-platform/service-kit';
import { implement } from '../implement.ts';
import { unknownCollection } from './collection.ts';
import { selectCollection } from './collections.sql.ts';
import { toSource } from './source.ts';
import { hasSource, listSourceRows } from './sources.sql.ts';

export const listSources = implement(contract.listSources, {
  async handle({ account, tx, query }) {
    const { kind, collection } = query;
    if (collection !== undefined && !(await selectCollection(tx, account.id, collection))) throw unknownCollection();
    return await readPage(query, {
      position: uuidPosition((id) => hasSource(tx, account.id, id)),
      rows: (last, limit) => listSourceRows(tx, account.id, { kind, collectionId: collection }, last, limit),
      item: (row) => toSource(row, account.timezone),
      cursor: 'id',
    });
  },
});
