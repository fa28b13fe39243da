import type { Member } from '@customer-platform/contracts/accounts';
import type { MemberRow } from './members.sql.ts';

/** A member as answers and events show one. */
export function toMember({ id, name, email, active }: MemberRow): Member {
  return { id, name, email, active };
}
