import { isDeepStrictEqual } from 'node:util';
import * as contract from '@customer-platform/contracts/calendar';
import { applyPatch, mergedByKey } from '@customer-platform/service-kit';
import { implement } from '../implement.ts';
import { withJoinedRanges } from './joined-ranges.ts';
import { overridesFault } from './overrides-fault.ts';
import { lockStaff, toStaff, updateStaffRow } from './staff.sql.ts';

export const updateStaff = implement(contract.updateStaff, {
  find: ({ account, tx, params }) => lockStaff(tx, account.id, params.email),
  async handle({ account, tx, body, found, fail }) {
    const { hours = {}, overrides = {}, ...others } = body;
    const changed = {
      ...applyPatch(found, others),
      hours: mergedByKey(found.hours, withJoinedRanges(hours)),
      overrides: mergedByKey(found.overrides, overrides && withJoinedRanges(overrides)),
    };
    const fault = overridesFault(changed.overrides, found.overrides);
    if (fault) return fail('invalid_request', fault, 'overrides');
    if (isDeepStrictEqual(changed, found)) return toStaff(found);
    await updateStaffRow(tx, account.id, found.id, changed);
    return toStaff(changed);
  },
});
