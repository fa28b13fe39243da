import { memberAdded } from '@customer-platform/contracts/accounts';
import { onEvent } from '@customer-platform/service-kit';
import { upsertMember } from './staff.sql.ts';

export const onMemberAdded = onEvent(memberAdded, async ({ tx }, event) => {
  await upsertMember(tx, event.account, event.data.member, event.sequence);
});
