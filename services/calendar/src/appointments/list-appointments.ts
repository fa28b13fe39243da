import { contactOfAccount } from '@customer-platform/contact-copy';
import * as contract from '@customer-platform/contracts/calendar';
import { fewBytes, instantOf, readChanges, readFiltered, readPage, uuidCursor } from '@customer-platform/service-kit';
import { selectBookingType } from '../booking-types/booking-types.sql.ts';
import { implement } from '../implement.ts';
import { selectStaff } from '../staff/staff.sql.ts';
import { toAppointment } from './appointment.ts';
import {
  type AppointmentFilter,
  listAppointmentRows,
  listChangedAppointments,
  selectCursor,
} from './appointments.sql.ts';

export const listAppointments = implement(contract.listAppointments, {
  async handle(call) {
    const { account, tx, query, now, fail } = call;
    const { updated_since: since } = query;
    const filter: AppointmentFilter = { status: query.status };
    if (query.from !== undefined) filter.from = instantOf(query.from, account.timezone);
    if (query.to !== undefined) filter.to = instantOf(query.to, account.timezone);
    if (filter.from && filter.to && filter.to < filter.from)
      return fail('invalid_request', 'to must not be before from', 'to');
    if (query.contact !== undefined) filter.contactId = (await contactOfAccount(call, query.contact)).id;
    if (query.staff !== undefined) {
      const teammate = await selectStaff(tx, account.id, query.staff);
      if (!teammate) return fail('invalid_request', 'staff must be the email of a teammate of this account', 'staff');
      filter.staffId = teammate.id;
    }
    if (query.booking_type !== undefined) {
      const bookingType = await selectBookingType(tx, account.id, query.booking_type);
      if (!bookingType)
        return fail('invalid_request', 'booking_type must be the id of a booking type of this account', 'booking_type');
      filter.bookingTypeId = bookingType.id;
    }
    // A list by `updated_since` is not in the order of starts, so `from` and `to` together count as one more indexed filter.
    const starts = since && (filter.from ?? filter.to);
    const indexed = [filter.status, filter.staffId, filter.bookingTypeId, filter.contactId, since, starts];
    return await readFiltered(call, 'the search of appointments', { indexed }, (sql) =>
      since
        ? readChanges({ sql, accountId: account.id, now, since }, query, {
            table: 'appointments',
            rows: (page) => listChangedAppointments(sql, account.id, filter, page),
            bytes: fewBytes,
            item: (row) => toAppointment(row, account.timezone),
          })
        : readPage(query, {
            position: (cursor) => selectCursor(sql, account.id, uuidCursor(cursor)),
            rows: (after, limit) => listAppointmentRows(sql, account.id, filter, { after, limit }),
            bytes: fewBytes,
            item: (row) => toAppointment(row, account.timezone),
            cursor: 'id',
          }),
    );
  },
});
