import * as contract from '@customer-platform/contracts/calendar';
import { mergedByKey, withGiven } from '@customer-platform/service-kit';
import { implement } from '../implement.ts';
import { withJoinedRanges } from './joined-ranges.ts';
import { lockStaff, toStaff, updateStaffRow } from './staff.sql.ts';

export const updateStaff = implement(contract.updateStaff, {
  find: ({ account, tx, params }) => lockStaff(tx, account.id, params.email),
  async handle({ account, tx, body, found, fail }) {
    const { hours = {}, overrides = {}, ...others } = body;
    const changed = {
      ...withGiven(found, others),
      hours: mergedByKey(found.hours, withJoinedRanges(hours)),
      overrides: mergedByKey(found.overrides, withJoinedRanges(overrides)),
    };
    if (Object.keys(changed.overrides).length > 1_000) {
      return fail('invalid_request', 'overrides must have at most 1000 dates; remove past ones with null', 'overrides');
    }
    await updateStaffRow(tx, account.id, found.id, changed);
    return toStaff(changed);
  },
});
