import * as contract from '@customer-platform/contracts/calendar';
import { instantOf } from '@customer-platform/service-kit';
import { implement } from '../implement.ts';
import { toTimeOff } from './list-time-off.ts';
import { selectStaff } from './staff.sql.ts';
import { insertTimeOff } from './time-off.sql.ts';

export const createTimeOff = implement(contract.createTimeOff, {
  find: ({ account, tx, params }) => selectStaff(tx, account.id, params.email),
  async handle({ account, tx, body, found, fail }) {
    const starts_at = instantOf(body.from, account.timezone);
    const ends_at = instantOf(body.to, account.timezone);
    if (ends_at <= starts_at) return fail('invalid_request', 'to must be later than from', 'to');
    const row = await insertTimeOff(tx, account.id, found.id, { starts_at, ends_at, reason: body.reason });
    return toTimeOff(row, account.timezone);
  },
});
