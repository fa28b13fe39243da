import { z } from 'zod';
import { AccountContext } from '../core/account.ts';
import { eventsOf } from '../core/event.ts';
import { internalRequest } from '../core/request.ts';
import { Member } from './resources.ts';

const { internalEvent } = eventsOf('gateway');

/** An account was made; its sandbox twin comes as an event of its own. */
export const accountCreated = internalEvent('account.created', z.object({ account: AccountContext }));

export { accountUpdated, getAccountContext } from '../core/account.ts';

/** A member joined the account's team, or came back to it. */
export const memberAdded = internalEvent('member.added', z.object({ member: Member }));

/** A member left the team: inactive, not deleted. */
export const memberRemoved = internalEvent('member.removed', z.object({ member: Member }));

/** Asks the gateway for a team member by email; null where the account never had one. */
export const getMember = internalRequest(
  'getMember',
  'gateway',
  z.object({ email: z.string() }),
  z.object({ member: Member.nullable() }),
);
