import type { Member } from '@customer-platform/contracts/accounts';
import type { MemberRow } from './members.sql.ts';

/** Returns a member as responses and events show it. */
export function toMember({ id, name, email, active }: MemberRow): Member {
  return { id, name, email, active };
}
