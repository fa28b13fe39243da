import * as contract from '@customer-platform/contracts/calendar';
import { implement } from '../implement.ts';
import { lockBookingType, removeBookingType } from './booking-types.sql.ts';

export const deleteBookingType = implement(contract.deleteBookingType, {
  find: ({ account, tx, params }) => lockBookingType(tx, account.id, params.booking_type_id, 'deletion'),
  async handle({ account, tx, found }) {
    await removeBookingType(tx, account.id, found.id);
    return undefined;
  },
});
