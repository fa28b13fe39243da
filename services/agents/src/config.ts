import { allowedRangesSetting, parsed, parseSecretKeys } from '@customer-platform/outbound';
import { baseConfig } from '@customer-platform/service-kit';
import { z } from 'zod';

/** Settings of this service. */
export const agentsConfig = baseConfig.extend({
  AGENTS_SECRET_KEY: parsed(parseSecretKeys).meta({
    description: 'Encrypts the keys of AI providers: base64 of 32 bytes. To rotate it, set 2:<new>,1:<old>.',
  }),
  WEBHOOKS_ALLOWED_RANGES: allowedRangesSetting,
  AGENTS_AI_TIMEOUT_MS: z.coerce.number().int().min(100).max(300_000).default(60_000).meta({
    description: 'Deadline of one call of an AI provider, in milliseconds.',
  }),
  AGENTS_MAX_PLANNING: z.coerce.number().int().min(1).max(200).default(64).meta({
    description: 'Maximum number of plans that one process makes at once.',
  }),
});
export type AgentsConfig = z.output<typeof agentsConfig>;
