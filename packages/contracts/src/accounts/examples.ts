import type { ExamplesOf } from '../core/examples.ts';
import { moduleNames } from '../core/modules.ts';
import type * as operations from './operations.ts';

/** Id of the account of all examples, a hair salon in Berlin. */
export const salonId = '019a9c00-1a2b-7c3d-8e4f-5a6b7c8d9e00';

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
};
