import * as contract from '@customer-platform/contracts/cdp';
import { fewBytes, hasRow, integerPosition, readPage } from '@customer-platform/service-kit';
import { implement } from '../implement.ts';
import { toDuplicatePair } from './duplicate.ts';
import { selectOpenDuplicates } from './duplicates.sql.ts';

export const listDuplicates = implement(contract.listDuplicates, {
  handle: ({ account, query, tx }) =>
    readPage(query, {
      position: integerPosition((id) => hasRow(tx, 'duplicates', account.id, id)),
      rows: (after, limit) => selectOpenDuplicates(tx, account.id, query.reason, { after, limit }),
      bytes: fewBytes,
      item: toDuplicatePair,
      cursor: 'id',
    }),
});
