import { z } from 'zod';
import { timestamp, uuid } from '../core/fields.ts';

/** The requests of a minute, summed over all gateways. */
export const TrafficMinute = z
  .object({
    minute: timestamp,
    requests: z.int(),
    s2xx: z.int().meta({ description: 'Responses with a status below 400.' }),
    s4xx: z.int(),
    s5xx: z.int(),
    limited: z.int().meta({ description: 'Responses among `s4xx` with the status 429.' }),
    p99_ms: z.number().meta({
      description: '99th percentile of the duration, rounded up to one of 24 bounds between 1 ms and 30 s.',
    }),
  })
  .meta({ id: 'TrafficMinute' });

export const TrafficList = z.object({ data: z.array(TrafficMinute) });
export const trafficQuery = z.object({
  account: uuid.optional().meta({ description: 'Id of an account or a sandbox. Default: all accounts together.' }),
});
