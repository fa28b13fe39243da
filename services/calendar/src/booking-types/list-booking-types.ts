import * as contract from '@customer-platform/contracts/calendar';
import { badCursor, integerCursor, toPage } from '@customer-platform/service-kit';
import { implement } from '../implement.ts';
import { listBookingTypeRows, selectBookingType } from './booking-types.sql.ts';

export const listBookingTypes = implement(contract.listBookingTypes, {
  async handle({ account, tx, query }) {
    const { limit, starting_after: cursor } = query;
    const last = cursor === undefined ? null : await selectBookingType(tx, account.id, integerCursor(cursor));
    if (last === undefined) throw badCursor();
    const rows = await listBookingTypeRows(tx, account.id, last?.id ?? null, limit + 1);
    return toPage(
      rows,
      limit,
      (row) => row,
      (row) => row.id,
    );
  },
});
