import { z } from 'zod';
import { AccountContext } from '../core/account.ts';
import { eventsOf } from '../core/event.ts';
import { internalRequest } from '../core/request.ts';
import { Member } from './resources.ts';

const { internalEvent } = eventsOf('gateway');

/** An account was created; its sandbox twin has an event of its own. */
export const accountCreated = internalEvent('account.created', z.object({ account: AccountContext }));

export { accountUpdated, getAccountContext } from '../core/account.ts';

/** A member joined the account's team, or became active again. */
export const memberAdded = internalEvent('member.added', z.object({ member: Member }));

/** A member left the team and is inactive, not deleted. */
export const memberRemoved = internalEvent('member.removed', z.object({ member: Member }));

/** Returns a team member by email; null if the account never had one. */
export const getMember = internalRequest(
  'getMember',
  'gateway',
  z.object({ email: z.string() }),
  z.object({ member: Member.nullable() }),
);

/** Returns those of up to 200 email addresses, in lower case, that are team members', former ones too. */
export const findMembers = internalRequest(
  'findMembers',
  'gateway',
  z.object({ emails: z.array(z.string()).max(200) }),
  z.object({ members: z.array(Member) }),
);
