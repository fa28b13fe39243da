import { allowedRangesSetting, parsed, parseSecretKeys } from '@customer-platform/outbound';
import { baseConfig } from '@customer-platform/service-kit';
import { z } from 'zod';
import { parseRetrySchedule } from './sending/retry-schedule.ts';

export const webhooksConfig = baseConfig.extend({
  WEBHOOKS_SECRET_KEY: parsed(parseSecretKeys).meta({
    description: 'Encrypts signing secrets: base64 of 32 bytes. To rotate it, set 2:<new>,1:<old>.',
  }),
  WEBHOOKS_ALLOWED_RANGES: allowedRangesSetting,
  WEBHOOKS_RETRY_SCHEDULE: parsed(parseRetrySchedule)
    .default(parseRetrySchedule('0,5s,5m,30m,2h,5h,10h,14h,20h,24h'))
    .meta({ description: 'Waits before each attempt of a delivery, such as 0,5s,5m.' }),
  WEBHOOKS_TIMEOUT_MS: z.coerce.number().int().min(100).max(60_000).default(15_000).meta({
    description: 'Deadline of one attempt, in milliseconds: DNS, connection, TLS, headers and body.',
  }),
  WEBHOOKS_MAX_PER_ENDPOINT: z.coerce.number().int().min(1).max(100).default(10).meta({
    description: 'Maximum attempts in flight to one endpoint.',
  }),
  WEBHOOKS_MAX_IN_FLIGHT: z.coerce.number().int().min(1).max(2000).default(256).meta({
    description:
      'Maximum attempts in flight that began less than 1 s ago. All attempts together: at most four times as many.',
  }),
  EVENT_RETENTION_DAYS: z.coerce.number().int().min(1).max(3650).default(30).meta({
    description:
      'Days for which events, deliveries and replays are shown. Replays are then deleted; events and deliveries are dropped one to two weeks later, or even later if this setting exceeds 60.',
  }),
});
export type WebhooksConfig = z.output<typeof webhooksConfig>;
