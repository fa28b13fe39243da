import { tmpdir } from 'node:os';
import { baseConfig, portSetting } from '@customer-platform/service-kit';
import { z } from 'zod';
import { type AddressRange, parseRange } from './http/request-head.ts';
import { checkRedisSettings, redisSettings } from './limits/redis-settings.ts';

const serviceUrl = z
  .url({ protocol: /^https?$/ })
  .optional()
  .meta({ description: 'Where this service is reached; its operations are 503 while it is not set.' });

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
      'The bearer token of the control plane, 32 characters at least; its holder is called admin. Required unless ADMIN_TOKENS is set.',
  }),
  ADMIN_TOKENS: z.string().optional().meta({
    description:
      'Tokens of the control plane by the names of their holders, under which changes are recorded: anna:<token>,ben:<token>.',
  }),
  ENVIRONMENT_NAME: z
    .string()
    .regex(/^[\w .-]{0,40}$/, { error: 'must be at most 40 letters, digits, spaces, dots, hyphens or underscores' })
    .default('')
    .meta({
      description:
        'Name of this installation, such as production or staging-eu: the console shows it, red for production and amber for staging.',
    }),
  TRACE_TOKEN: z.string().min(32).optional().meta({
    description:
      'Bearer token of exporters of spans, 32 characters at least: with it the control plane collects traces at /v1/traces (OTLP/JSON over HTTP), in 64 MiB of memory.',
  }),
  TRACE_URL: z
    .string()
    .regex(/^https?:\/\/.*\{trace_id\}/)
    .optional()
    .meta({
      description:
        'Page of a trace elsewhere, such as https://traces.example/{trace_id}: operators get this link where no TRACE_TOKEN is set.',
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
    .meta({ description: 'Proxies in front of the gateway, as CIDR ranges: X-Forwarded-For counts from these alone.' }),
  SERVICE_SOCKETS: count(256).meta({
    description:
      'Most requests that are at one service at once; an account alone gets half of them, and always leaves some free.',
  }),
  SERVICE_HOLD_SECONDS: z.coerce.number().min(0).max(30).default(5).meta({
    description:
      'How long requests wait for a service that takes no connections, from the first of them: the time in which one that is alone restarts.',
  }),
  BODY_MEMORY_MIB: count(64).meta({
    description:
      'Memory for bodies that are under way, in MiB; an account gets a quarter at most, hooks a quarter all together.',
  }),
  BODY_WINDOW_SECONDS: positive(10).meta({
    description:
      'How often it is looked how fast a body comes, in seconds; a hook has to send the whole body in one such window.',
  }),
  BODY_BYTES_PER_SECOND: count(4_096).meta({
    description: 'How fast a body has to come in each window; a slower one is 408.',
  }),
  UPLOAD_FILES: count(24).meta({
    description:
      'Most bodies over 1 MiB that are kept in files at once, 20 MiB each at most; an account has four at once.',
  }),
  UPLOAD_DIRECTORY: z
    .string()
    .default(tmpdir())
    .meta({ description: "Where these files are; default: the system's directory for temporary files." }),
  HOOK_SOCKETS: count(64).meta({
    description: 'Most calls of hooks that are at the service at once, apart from the API.',
  }),
  HOOK_REQUESTS_PER_ADDRESS: count(64).meta({
    description:
      'Calls of hooks of one account that one client address (IPv6: its /64) may have under way, twice as many of all accounts; more are 429.',
  }),
  HOOK_RATE_PER_ADDRESS: count(500).meta({
    description: 'Calls of hooks a second of one client address, twice as many at once; more are 429.',
  }),
  HOOK_REFUSALS_PER_SECOND: count(10).meta({
    description:
      'Calls with unknown tokens a second of one client address, and of one hook those that are refused; ten times as many at once.',
  }),
  READY_FILE: z.string().optional().meta({
    description: "While this file is missing the public /readyz returns 503: a launcher's way to say when all is up.",
  }),
  DOCS_KEY_FILE: z.string().min(1).optional().meta({
    description:
      'File with a test key (cp_test_…) that the reference at /docs/reference tries requests with: everyone who opens the page gets it, and with account:write could revoke it. For demonstrations.',
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
