import * as contract from '@customer-platform/contracts/calendar';
import { implement } from '../implement.ts';
import { withJoinedRanges } from './joined-ranges.ts';
import { lockStaff, toStaff, updateStaffRow } from './staff.sql.ts';

export const updateStaff = implement(contract.updateStaff, {
  find: ({ account, tx, params }) => lockStaff(tx, account.id, params.email),
  async handle({ account, tx, body, found, fail }) {
    const changed = {
      ...found,
      active: body.active ?? found.active,
      hours: merged(found.hours, withJoinedRanges(body.hours ?? {})) as contract.Staff['hours'],
      overrides: merged(found.overrides, withJoinedRanges(body.overrides ?? {})) as contract.Staff['overrides'],
      location: body.location ?? found.location,
      meeting_link: body.meeting_link ?? found.meeting_link,
    };
    if (Object.keys(changed.overrides).length > 1_000) {
      return fail('invalid_request', 'overrides must have at most 1000 dates; remove past ones with null', 'overrides');
    }
    await updateStaffRow(tx, account.id, found.id, changed);
    return toStaff(changed);
  },
});

/** Returns the object with the change's keys merged in; null removes a key. */
function merged(current: Record<string, unknown>, change: Record<string, unknown>): Record<string, unknown> {
  const entries = Object.entries({ ...current, ...change });
  return Object.fromEntries(entries.filter(([, value]) => value !== null && value !== undefined));
}
