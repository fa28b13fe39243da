import * as contract from '@customer-platform/contracts/calendar';
import { fewBytes, integerCursor, readPage } from '@customer-platform/service-kit';
import { implement } from '../implement.ts';
import { listBookingTypeRows, selectBookingType } from './booking-types.sql.ts';

export const listBookingTypes = implement(contract.listBookingTypes, {
  handle: ({ account, tx, query }) =>
    readPage(query, {
      position: (cursor) => selectBookingType(tx, account.id, integerCursor(cursor)),
      rows: (last, limit) => listBookingTypeRows(tx, account.id, last?.id ?? null, limit),
      bytes: fewBytes,
      item: (row) => row,
      cursor: 'id',
    }),
});
