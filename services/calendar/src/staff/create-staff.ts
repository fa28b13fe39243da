import { getMember } from '@customer-platform/contracts/accounts';
import * as contract from '@customer-platform/contracts/calendar';
import { implement } from '../implement.ts';
import { withJoinedRanges } from './joined-ranges.ts';
import { overridesFault } from './overrides-fault.ts';
import { insertStaff, selectMember, selectStaff, toStaff, upsertMember } from './staff.sql.ts';

export const createStaff = implement(contract.createStaff, {
  async handle({ account, tx, body, fail, prefetch }) {
    const { email, ...given } = body;
    const profile = { ...given, hours: withJoinedRanges(given.hours), overrides: withJoinedRanges(given.overrides) };
    const fault = overridesFault(profile.overrides);
    if (fault) return fail('invalid_request', fault, 'overrides');
    const member = await selectMember(tx, account.id, email);
    if (!member) {
      prefetch(async ({ onConnection, ask }) => {
        const { member: asked } = await ask(getMember, { email });
        if (asked) await onConnection((sql) => upsertMember(sql, account.id, asked, 0));
      });
    }
    if (!member?.active)
      return fail('invalid_request', `email must be the email of a team member, not ${email}`, 'email');
    if (!(await insertStaff(tx, account.id, email, profile))) {
      return fail('invalid_state', `${email} already takes bookings; update the profile with PATCH`);
    }
    return toStaff((await selectStaff(tx, account.id, email))!);
  },
});
