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
    'Returns the account, scopes, modules and rate limit of the key. Any key may call it; a test key returns the sandbox account.',
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
    'Returns the time by which the sandbox goes: the real time until it is advanced, and running on from there afterwards. Any test key may call it; a live key gets 404.',
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
    'Has everything that falls due on the way happen at its time, in the order of its time: the clock stops at each due moment until what it set off has been done. Needs a test key with every scope; a live key gets 404. While the clock is advancing, another request gets 409.',
  body: z.object({
    advance_to: instant.meta({
      description: `The time to advance to: ahead of the clock, by at most ${maxAdvanceDays} days.`,
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
  description: 'Newest first, including inactive members. A test key lists those of the sandbox.',
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
  description: 'A member who was removed becomes active again. POST /v1/calendar/staff makes a member take bookings.',
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
  description: 'The member becomes inactive; none of their data is deleted.',
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
    'Newest first, revoked and expired ones included, without the keys themselves. A test key lists test keys only.',
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
    'The key is shown only in this response. It has at most the scopes of the key that creates it, and a test key creates test keys only. An account makes keys until it has 1,000 of a mode that work.',
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
    'Creates a successor, which is shown only in this response. The old key keeps working for `overlap_seconds`. A key with fewer scopes cannot rotate one with more.',
  params: keyPath,
  body: z.object({
    overlap_seconds: z.int().min(0).max(604_800).default(86_400).meta({
      description: 'How long the old key keeps working, in seconds; 0 ends it immediately.',
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
    'Takes effect immediately, on the key of the request as well. Revoking a revoked key returns 204 too. A key with fewer scopes cannot revoke one with more.',
  params: keyPath,
  status: 204,
  errors: ['not_found', 'scope_missing'],
});
