import { baseConfig, portSetting } from '@customer-platform/service-kit';
import { z } from 'zod';
import { type AddressRange, parseRange } from './proxy/client-address.ts';

const serviceUrl = z
  .url({ protocol: /^https?$/ })
  .optional()
  .meta({ description: 'Where this service answers; its operations are 503 while it is not set.' });

/** The gateway's settings. */
export const gatewayConfig = baseConfig.extend({
  GATEWAY_HOST: z.string().default('127.0.0.1').meta({ description: 'Address of the public listener.' }),
  GATEWAY_PORT: portSetting.default(8080).meta({ description: 'Port of the public listener; 0 picks a free one.' }),
  ADMIN_HOST: z
    .string()
    .default('127.0.0.1')
    .meta({ description: 'Address of the control plane; keep it off the public network.' }),
  ADMIN_PORT: portSetting.default(8081).meta({ description: 'Port of the control plane; 0 picks a free one.' }),
  ADMIN_TOKEN: z.string().min(32).meta({ description: "The control plane's bearer token, 32 characters at least." }),
  REDIS_URL: z.string().min(1).meta({ description: 'Redis for rate limits, such as redis://127.0.0.1:6379.' }),
  REDIS_PREFIX: z
    .string()
    .default('platform')
    .meta({ description: 'First part of every Redis key: separates installations on one Redis.' }),
  TRUSTED_PROXIES: z
    .string()
    .default('')
    .transform((text, context): AddressRange[] => {
      try {
        return text.split(',').flatMap((range) => (range.trim() === '' ? [] : [parseRange(range.trim())]));
      } catch (error) {
        context.addIssue(
          `must be CIDR ranges separated by commas, such as 10.0.0.0/8,192.0.2.7: ${(error as Error).message}`,
        );
        return z.NEVER;
      }
    })
    .meta({ description: 'Proxies in front of the gateway, as CIDR ranges: X-Forwarded-For counts from these alone.' }),
  READY_FILE: z.string().optional().meta({
    description: "While this file is missing the public /readyz answers 503: a launcher's way to say when all is up.",
  }),
  CALENDAR_URL: serviceUrl,
  AGENTS_URL: serviceUrl,
  CDP_URL: serviceUrl,
  CATALOGUE_URL: serviceUrl,
  CRM_URL: serviceUrl,
  MESSAGING_URL: serviceUrl,
  WEBHOOKS_URL: serviceUrl,
});

export type GatewayConfig = z.output<typeof gatewayConfig>;
