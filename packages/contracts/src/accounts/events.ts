import { z } from 'zod';
import { AccountContext } from '../core/account.ts';
import { eventsOf } from '../core/event.ts';
import { internalRequest } from '../core/request.ts';
import { Member } from './resources.ts';

const { internalEvent } = eventsOf('gateway');

/** An account was created. Its sandbox has a separate event. */
export const accountCreated = internalEvent('account.created', z.object({ account: AccountContext }));

export { accountUpdated, getAccountContext } from '../core/account.ts';

/** A member joined the account's team, or became active again. */
export const memberAdded = internalEvent('member.added', z.object({ member: Member }));

/** A member left the team. The member is inactive, not deleted. */
export const memberRemoved = internalEvent('member.removed', z.object({ member: Member }));

/** Returns a team member by email, active or not; null if the account never had the member. */
export const getMember = internalRequest(
  'getMember',
  'gateway',
  z.object({ email: z.string() }),
  z.object({ member: Member.nullable() }),
);

/** Returns the team members with these email addresses, including former ones. At most 200 addresses, in lower case. */
export const findMembers = internalRequest(
  'findMembers',
  'gateway',
  z.object({ emails: z.array(z.string()).max(200) }),
  z.object({ members: z.array(Member) }),
);
