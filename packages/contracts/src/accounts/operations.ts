import { z } from 'zod';
import { instant } from '../core/fields.ts';
import { operationsOf } from '../core/operation.ts';
import { pageOf, pageQuery } from '../core/page.ts';
import {
  Key,
  KeyWithSecret,
  keyPath,
  Me,
  Member,
  MemberInput,
  maxAdvanceDays,
  OwnKeyInput,
  ownMemberPath,
  SandboxClock,
} from './resources.ts';

const operation = operationsOf('gateway', null);
const list = z.object(pageQuery);

export const getMe = operation('getMe', {
  method: 'GET',
  path: '/v1/me',
  scope: null,
  summary: "Retrieve the key's account",
  description:
    'Returns the account, scopes, modules and rate limit of the key. Any key may call it. For a test key, the account is the sandbox.',
  status: 200,
  response: Me,
  errors: [],
});

export const getSandboxClock = operation('getSandboxClock', {
  method: 'GET',
  path: '/v1/sandbox/clock',
  scope: null,
  summary: "Retrieve the sandbox's clock",
  description:
    'Returns the current time of the sandbox. The clock shows the real time until you advance it, and runs on from the new time afterwards. Any test key may call it; a live key gets 404.',
  status: 200,
  response: SandboxClock,
  errors: ['not_found'],
});

export const advanceSandboxClock = operation('advanceSandboxClock', {
  method: 'POST',
  path: '/v1/sandbox/clock',
  clientName: 'sandbox.clock.advance',
  scope: null,
  summary: "Advance the sandbox's clock",
  description:
    'Runs everything that falls due until the new time, in order and each at its time. The clock stops at each due time until the resulting work is done. The clock advances in the background: poll it until its status is `ready`. Needs a test key with every scope; a live key gets 404. While the clock is advancing, another advance returns 409 `invalid_state`.',
  body: z.object({
    advance_to: instant.meta({
      description: `The time to advance to: later than the clock's time, by at most ${maxAdvanceDays} days.`,
    }),
  }),
  status: 202,
  response: SandboxClock,
  errors: ['not_found', 'invalid_state'],
});

export const listTeamMembers = operation('listTeamMembers', {
  method: 'GET',
  path: '/v1/members',
  scope: 'account:read',
  summary: 'List team members',
  description: 'Newest first, including inactive members. A test key lists the members of the sandbox.',
  query: list,
  status: 200,
  response: pageOf(Member),
  errors: [],
});

export const addTeamMember = operation('addTeamMember', {
  method: 'POST',
  path: '/v1/members',
  clientName: 'members.add',
  scope: 'account:write',
  summary: 'Add a team member',
  description: 'A removed member becomes active again. To let a member take bookings, use `POST /v1/calendar/staff`.',
  body: MemberInput,
  status: 201,
  response: Member,
  errors: [],
});

export const removeTeamMember = operation('removeTeamMember', {
  method: 'DELETE',
  path: '/v1/members/{member_id}',
  clientName: 'members.remove',
  scope: 'account:write',
  summary: 'Remove a team member',
  description: 'The member becomes inactive, and none of their data is deleted.',
  params: ownMemberPath,
  status: 204,
  errors: ['not_found'],
});

export const listApiKeys = operation('listApiKeys', {
  method: 'GET',
  path: '/v1/keys',
  scope: 'account:read',
  summary: 'List API keys',
  description:
    'Newest first, including revoked and expired keys, without the secret keys. A test key lists only test keys.',
  query: list,
  status: 200,
  response: pageOf(Key),
  errors: [],
});

export const createApiKey = operation('createApiKey', {
  method: 'POST',
  path: '/v1/keys',
  scope: 'account:write',
  summary: 'Create an API key',
  description:
    'Only this response contains the key. The new key can have only scopes of the key that creates it, and gets the same rate limit. A test key creates only test keys. An account with 1,000 working keys of a mode gets 409 `invalid_state`.',
  body: OwnKeyInput,
  status: 201,
  response: KeyWithSecret,
  respondsWithSecret: true,
  errors: ['invalid_state'],
});

export const rotateApiKey = operation('rotateApiKey', {
  method: 'POST',
  path: '/v1/keys/{key_id}/rotate',
  scope: 'account:write',
  summary: 'Rotate an API key',
  description:
    'Creates a successor with the same name, scopes, addresses, rate limit and expiry; only this response contains it. The old key keeps working for `overlap_seconds`, and both count toward the limit of 1,000 working keys. A key cannot rotate a key that has scopes it lacks.',
  params: keyPath,
  body: z.object({
    overlap_seconds: z.int().min(0).max(604_800).default(86_400).meta({
      description: 'How long the old key keeps working, in seconds; with 0 it ends immediately.',
    }),
  }),
  status: 201,
  response: KeyWithSecret,
  respondsWithSecret: true,
  errors: ['not_found', 'invalid_state', 'scope_missing'],
});

export const revokeApiKey = operation('revokeApiKey', {
  method: 'DELETE',
  path: '/v1/keys/{key_id}',
  clientName: 'keys.revoke',
  scope: 'account:write',
  summary: 'Revoke an API key',
  description:
    'The key stops working within a second. A key can revoke itself. Revoking a revoked key also returns 204. A key cannot revoke a key that has scopes it lacks.',
  params: keyPath,
  status: 204,
  errors: ['not_found', 'scope_missing'],
});
