import * as contract from '@customer-platform/contracts/agents';
import { hasRow, readPage, uuidPosition } from '@customer-platform/service-kit';
import { implement } from '../implement.ts';
import { refuseUnknownCollection } from './collection.ts';
import { toSource } from './source.ts';
import { listSourceRows } from './sources.sql.ts';

export const listSources = implement(contract.listSources, {
  async handle({ account, tx, query }) {
    const { kind, collection } = query;
    await refuseUnknownCollection(tx, account.id, collection);
    return await readPage(query, {
      position: uuidPosition((id) => hasRow(tx, 'sources', account.id, id)),
      rows: (after, limit) => listSourceRows(tx, account.id, { kind, collectionId: collection }, { after, limit }),
      bytes: (row) => row.bytes,
      item: (row) => toSource(row, account.timezone),
      cursor: 'id',
    });
  },
});
