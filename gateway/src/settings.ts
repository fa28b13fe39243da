import { tmpdir } from 'node:os';
import { baseConfig, portSetting } from '@customer-platform/service-kit';
import { z } from 'zod';
import { type AddressRange, parseRange } from './http/request-head.ts';
import { checkRedisSettings, redisSettings } from './limits/redis-settings.ts';

const serviceUrl = z
  .url({ protocol: /^https?$/ })
  .optional()
  .meta({ description: 'URL of the service. Without it, its operations return 503.' });

const count = (value: number) => z.coerce.number().int().min(1).default(value);
const positive = (value: number) => z.coerce.number().positive().default(value);

/** Shortest allowed prefixes of a range of proxies: the private 10.0.0.0/8, and that of a large network provider. */
const shortestPrefix = { ipv4: 8, ipv6: 16 };

/** Parses a range of proxies. Throws like `parseRange`, and for a range so wide that clients in it could forge addresses. */
function proxyRange(text: string): AddressRange {
  const [network, bits] = parseRange(text);
  const least = shortestPrefix[network.kind()];
  if (bits < least)
    throw new Error(`${text} must have a prefix of /${least} or longer, or clients could forge their addresses`);
  return [network, bits];
}

const shape = baseConfig.extend({
  GATEWAY_HOST: z.string().default('127.0.0.1').meta({ description: 'Address of the public listener.' }),
  GATEWAY_PORT: portSetting.default(8080).meta({ description: 'Port of the public listener; 0 picks a free one.' }),
  ADMIN_HOST: z
    .string()
    .default('127.0.0.1')
    .meta({ description: 'Address of the control plane; keep it off the public network.' }),
  ADMIN_PORT: portSetting.default(8081).meta({ description: 'Port of the control plane; 0 picks a free one.' }),
  ADMIN_TOKEN: z.string().min(32).optional().meta({
    description:
      'Bearer token of the control plane, at least 32 characters. The audit log calls its holder admin. Required unless ADMIN_TOKENS is set.',
  }),
  ADMIN_TOKENS: z.string().optional().meta({
    description:
      'Control plane tokens with the names under which the audit log records changes: anna:<token>,ben:<token>.',
  }),
  ENVIRONMENT_NAME: z
    .string()
    .regex(/^[\w .-]{0,40}$/, { error: 'must be at most 40 letters, digits, spaces, dots, hyphens or underscores' })
    .default('')
    .meta({
      description: 'Name of this installation in the console, such as production (shown in red) or staging-eu (amber).',
    }),
  TRACE_TOKEN: z.string().min(32).optional().meta({
    description:
      'Bearer token for span exporters, at least 32 characters. With it, the control plane collects traces at /v1/traces (OTLP/JSON over HTTP) in 64 MiB of memory.',
  }),
  TRACE_URL: z
    .string()
    .regex(/^https?:\/\/.*\{trace_id\}/)
    .optional()
    .meta({
      description:
        'Link to a trace in your own tool, such as https://traces.example/{trace_id}. Operators get it if TRACE_TOKEN is not set.',
    }),
  ...redisSettings,
  TRUSTED_PROXIES: z
    .string()
    .default('')
    .transform((text, context): AddressRange[] => {
      try {
        return text.split(',').flatMap((range) => (range.trim() === '' ? [] : [proxyRange(range.trim())]));
      } catch (error) {
        context.addIssue(
          `must be CIDR ranges separated by commas, such as 10.0.0.0/8,192.0.2.7: ${(error as Error).message}`,
        );
        return z.NEVER;
      }
    })
    .meta({
      description: 'Proxies in front of the gateway, as CIDR ranges. The gateway reads X-Forwarded-For only from them.',
    }),
  SERVICE_SOCKETS: count(256).meta({
    description: 'Maximum concurrent requests to one service. One account gets at most half of them.',
  }),
  SERVICE_HOLD_SECONDS: z.coerce.number().min(0).max(30).default(5).meta({
    description:
      'How long requests wait for a service that refuses connections, in seconds from the first one. A single process can restart in this time.',
  }),
  BODY_MEMORY_MIB: count(64).meta({
    description:
      'Memory for bodies in flight, in MiB. An account gets at most a quarter, and all hooks together a quarter.',
  }),
  BODY_WINDOW_SECONDS: positive(10).meta({
    description:
      'Window in which the gateway measures how fast a body arrives, in seconds. A hook must send its whole body within one window.',
  }),
  BODY_BYTES_PER_SECOND: count(4_096).meta({
    description: 'Minimum rate of a body in each window. A slower body gets 408.',
  }),
  UPLOAD_FILES: count(24).meta({
    description:
      'Maximum number of bodies over 1 MiB stored in files at once, each at most 20 MiB. An account has at most four.',
  }),
  UPLOAD_DIRECTORY: z
    .string()
    .default(tmpdir())
    .meta({ description: "Directory of these files. Default: the system's directory for temporary files." }),
  HOOK_SOCKETS: count(64).meta({
    description: 'Maximum concurrent hook calls to the service, separate from the API.',
  }),
  HOOK_REQUESTS_PER_ADDRESS: count(64).meta({
    description:
      'Maximum hook calls in flight from one client address (IPv6: /64) to one account; twice as many to all accounts. More get 429.',
  }),
  HOOK_RATE_PER_ADDRESS: count(500).meta({
    description: 'Maximum hook calls per second from one client address, with bursts of twice as many. More get 429.',
  }),
  HOOK_REFUSALS_PER_SECOND: count(10).meta({
    description:
      'Maximum calls per second with unknown tokens from one client address, and refused calls of one hook. Bursts may have ten times as many.',
  }),
  READY_FILE: z.string().optional().meta({
    description:
      'While this file is missing, the public /readyz returns 503. A launcher creates it once everything runs.',
  }),
  DOCS_KEY_FILE: z.string().min(1).optional().meta({
    description:
      'File with a test key (cp_test_…) for requests from /docs/reference, for demonstrations. Everyone who opens the page gets the key, so leave out account:write.',
  }),
  CALENDAR_URL: serviceUrl,
  AGENTS_URL: serviceUrl,
  CDP_URL: serviceUrl,
  CATALOGUE_URL: serviceUrl,
  CRM_URL: serviceUrl,
  MESSAGING_URL: serviceUrl,
  WEBHOOKS_URL: serviceUrl,
});

/** The gateway's settings. */
export const gatewayConfig = shape.superRefine(checkRedisSettings);

export type GatewayConfig = z.output<typeof gatewayConfig>;
