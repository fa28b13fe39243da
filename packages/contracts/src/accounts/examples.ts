import type { ExamplesOf } from '../core/examples.ts';
import { moduleNames } from '../core/modules.ts';
import type * as operations from './operations.ts';
import type { SandboxClock } from './resources.ts';

/** Id of the account of all examples, a hair salon in Berlin. */
export const salonId = '019a9c00-1a2b-7c3d-8e4f-5a6b7c8d9e00';

const advancing: SandboxClock = {
  now: '2026-11-20T11:02:41+01:00',
  status: 'advancing',
  target: '2026-11-23T11:02:41+01:00',
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
  getSandboxClock: { response: advancing },
  advanceSandboxClock: { body: { advance_to: advancing.target! }, response: advancing },
};
