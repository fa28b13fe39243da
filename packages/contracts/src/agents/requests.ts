import { z } from 'zod';
import { internalRequest } from '../core/request.ts';

/** Returns how many of an account's plans failed in the last 24 hours, and the error of the latest. */
export const measurePlans = internalRequest(
  'measurePlans',
  'agents',
  z.object({ account: z.guid() }),
  z.object({ failed: z.int(), last_error: z.string().nullable() }),
);
