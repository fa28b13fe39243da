import * as contract from '@customer-platform/contracts/cdp';
import { readPage, uuidPosition } from '@customer-platform/service-kit';
import { implement } from '../implement.ts';
import { toAudience } from './audience.ts';
import { listAudienceRows, selectAudience } from './audiences.sql.ts';

export const listAudiences = implement(contract.listAudiences, {
  handle: ({ account, query, tx }) =>
    readPage(query, {
      position: uuidPosition((id) => selectAudience(tx, account.id, id)),
      rows: (after, limit) => listAudienceRows(tx, account.id, after, limit),
      bytes: (row) => row.bytes,
      item: (row) => toAudience(row, account.timezone),
      cursor: 'id',
    }),
});
