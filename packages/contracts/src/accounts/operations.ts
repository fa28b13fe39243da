import { z } from 'zod';
import { instant } from '../core/fields.ts';
import { operationsOf } from '../core/operation.ts';
import { Me, maxAdvanceDays, SandboxClock } from './resources.ts';

const operation = operationsOf('gateway', null);

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
