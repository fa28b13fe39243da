import type { ExamplesOf } from '../core/examples.ts';
import { moduleNames } from '../core/modules.ts';
import type * as operations from './operations.ts';
import type { Key, Member, SandboxClock } from './resources.ts';

/** Id of the account of all examples, a hair salon in Berlin. */
export const salonId = '019a9c00-1a2b-7c3d-8e4f-5a6b7c8d9e00';

const advancing: SandboxClock = {
  now: '2026-11-20T11:02:41+01:00',
  status: 'advancing',
  target: '2026-11-23T11:02:41+01:00',
};

const member: Member = {
  id: '019a9c01-2b3c-7d4e-8f5a-6b7c8d9e0f1a',
  name: 'Mira Stein',
  email: 'mira@salon-aurora.example',
  active: true,
};

const key: Key = {
  id: '019a9c02-3c4d-7e5f-8a6b-7c8d9e0f1a2b',
  name: 'Website',
  mode: 'test',
  scopes: ['cdp.contacts:read', 'cdp.contacts:write'],
  allowed_addresses: [],
  rate_limit: null,
  last4: '7gQz',
  created_at: '2026-11-20T09:00:00+01:00',
  last_used_at: '2026-11-20T10:58:03+01:00',
  expires_at: null,
  revoked_at: null,
};

export const accountExamples: ExamplesOf<typeof operations> = {
  getMe: {
    response: {
      account: { id: salonId, name: 'Salon Aurora', timezone: 'Europe/Berlin', currency: 'EUR' },
      mode: 'test',
      scopes: ['*'],
      modules: [...moduleNames],
      rate_limit: { per_minute: 600, burst: 100 },
      tzdata: '2025b',
    },
  },
  listTeamMembers: { response: { data: [member], has_more: false, next: null } },
  addTeamMember: { body: { name: member.name, email: member.email }, response: member },
  listApiKeys: { response: { data: [key], has_more: false, next: null } },
  createApiKey: {
    body: { name: key.name, mode: key.mode, scopes: key.scopes as ['cdp.contacts:read'] },
    response: { ...key, last_used_at: null, key: 'cp_test_…' },
  },
  rotateApiKey: {
    body: { overlap_seconds: 3_600 },
    response: { ...key, id: '019a9c02-4d5e-7f60-8a7b-8c9d0e1f2a3b', last_used_at: null, key: 'cp_test_…' },
  },
  getSandboxClock: { response: advancing },
  advanceSandboxClock: { body: { advance_to: advancing.target! }, response: advancing },
};
