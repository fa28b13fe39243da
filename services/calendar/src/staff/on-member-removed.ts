import { memberRemoved } from '@customer-platform/contracts/accounts';
import { onEvent } from '@customer-platform/service-kit';
import { upsertMember } from './staff.sql.ts';

export const onMemberRemoved = onEvent(memberRemoved, async ({ tx }, event) => {
  await upsertMember(tx, event.account, { ...event.data.member, active: false }, event.sequence);
});
