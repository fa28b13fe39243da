import * as contract from '@customer-platform/contracts/calendar';
import { instantOf } from '@customer-platform/service-kit';
import { implement } from '../implement.ts';
import { toTimeOff } from './list-time-off.ts';
import { selectStaff } from './staff.sql.ts';
import { countTimeOff, insertTimeOff } from './time-off.sql.ts';

/** Bounded because free times read all time off within their window. */
const maxTimeOff = 1_000;

export const createTimeOff = implement(contract.createTimeOff, {
  find: ({ account, tx, params }) => selectStaff(tx, account.id, params.email),
  async handle({ account, tx, body, found, now, fail }) {
    const starts_at = instantOf(body.from, account.timezone);
    const ends_at = instantOf(body.to, account.timezone);
    if (ends_at <= starts_at) return fail('invalid_request', 'to must be later than from', 'to');
    if ((await countTimeOff(tx, account.id, found.id, now)) >= maxTimeOff) {
      const most = `at most ${maxTimeOff.toLocaleString('en')} periods of time off that have not ended`;
      return fail('invalid_state', `A teammate has ${most}; delete one first`);
    }
    const row = await insertTimeOff(tx, account.id, found.id, { starts_at, ends_at, reason: body.reason });
    return toTimeOff(row, account.timezone);
  },
});
