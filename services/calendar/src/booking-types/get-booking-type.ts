import * as contract from '@customer-platform/contracts/calendar';
import { implement } from '../implement.ts';
import { selectBookingType } from './booking-types.sql.ts';

export const getBookingType = implement(contract.getBookingType, {
  find: ({ account, tx, params }) => selectBookingType(tx, account.id, params.booking_type_id),
  handle: async ({ found }) => found,
});
