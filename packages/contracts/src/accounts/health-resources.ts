import { z } from 'zod';
import { channel } from '../core/channel.ts';
import { instant, text, timestamp, uuid } from '../core/fields.ts';
import { moduleNames, serviceNames } from '../core/modules.ts';
import { OperatedEndpoint, reasonFields } from './operator-resources.ts';
import { RateLimit } from './resources.ts';

const count = z.int().min(0);
const gone = z.array(z.enum(serviceNames)).meta({
  description: 'Services that did not reply, so their data is missing. Includes the gateway if NATS is unavailable.',
});

/** Recent state of an account: its requests, messages, endpoints and plans. */
export const AccountHealth = z
  .object({
    requests: z.object({
      last_hour: z.object({
        total: count,
        by_code: z.record(z.string(), count).meta({ description: 'Number of errors by error code.' }),
      }),
    }),
    rate_limit: RateLimit.meta({ description: 'Rate limit of each key without its own.' }),
    keys: z
      .array(
        z.object({
          id: z.guid(),
          name: z.string(),
          last4: z.string(),
          rate_limit: RateLimit.nullable().meta({ description: "The key's own; null if the account's applies." }),
          ended_at: timestamp.nullable().meta({ description: 'When the key was revoked or expired.' }),
          requests: count,
          limited: count.meta({ description: 'Requests over the rate limit.' }),
          addresses: z.array(z.string()).meta({ description: 'Client addresses, at most five.' }),
        }),
      )
      .meta({ description: 'Keys used in the last hour, most requests first, at most 50.' }),
    messages: z.object({
      failed_24h: z
        .array(z.object({ channel, code: z.string(), count, last_at: timestamp, last_error: z.string() }))
        .meta({
          description:
            'Messages that failed or were refused and were not sent again. Grouped by channel and error code, largest group first.',
        }),
      channels: z.array(
        z.object({
          channel,
          provider: z.string(),
          status: z.enum(['ready', 'failing']),
          error: z.string().nullable(),
          failing_since: timestamp.nullable(),
          held: count.meta({
            description: 'Messages that wait because the channel is failing, at most 1,000.',
          }),
        }),
      ),
    }),
    endpoints: z.array(
      OperatedEndpoint.pick({
        id: true,
        url: true,
        active: true,
        paused: true,
        disabled_reason: true,
        failing_since: true,
        pending: true,
      }).extend({
        failed_24h: count.meta({ description: 'Deliveries that failed for good, at most 1,000.' }),
      }),
    ),
    plans: z.object({ failed_24h: count, last_error: z.string().nullable() }),
    modules_off: z.array(z.enum(moduleNames)).meta({
      description: 'Modules that are switched off or not in the plan; their operations return 404 `module_off`.',
    }),
    suspended: z.boolean(),
    gone,
  })
  .meta({ id: 'AccountHealth' });
export type AccountHealth = z.infer<typeof AccountHealth>;

/** Customers' problems that need attention. */
export const CustomerAttention = z
  .object({
    channels: z
      .array(
        z.object({
          account: z.guid(),
          account_name: z.string(),
          channel,
          provider: z.string(),
          error: z.string().nullable(),
          failing_since: timestamp,
        }),
      )
      .meta({ description: 'Channels whose provider rejects the credentials, longest failing first.' }),
    accounts: z
      .array(
        z.object({
          account: z.guid(),
          account_name: z.string(),
          failed_messages: count.meta({ description: 'Messages that failed in the last hour.' }),
          requests: count.meta({ description: 'Requests in the last hour.' }),
          refused: count.meta({ description: 'Requests with a 4xx status; of 404, only `module_off` counts.' }),
          reasons: z.array(z.enum(['messages', 'modules', 'refusals'])).meta({
            description: '`modules`: most refused requests are `module_off`. `refusals`: most are not.',
          }),
        }),
      )
      .meta({
        description:
          'Accounts with more than 20 failed messages in the last hour, or with more than 5 % of at least 50 requests refused.',
      }),
    endpoints: z
      .array(OperatedEndpoint.extend({ account_name: z.string() }))
      .meta({ description: 'Endpoints that the platform disabled in the last day.' }),
    addresses: z
      .array(z.object({ address: z.string(), invalid_keys: count, last_at: timestamp }))
      .meta({ description: 'Client addresses with more than 100 invalid keys within a minute of the last hour.' }),
    gone,
  })
  .meta({ id: 'CustomerAttention', description: 'At most 100 entries of each list.' });
export type CustomerAttention = z.infer<typeof CustomerAttention>;

/** A delivery as operators see it. */
export const OperatedDelivery = z
  .object({
    id: z.guid(),
    event: z.string().meta({ description: 'Kind of the event.' }),
    event_id: z.guid(),
    status: z.string(),
    tries: count,
    at: timestamp.meta({ description: 'Time of the last attempt, or of creation if there was none.' }),
    response_status: z.int().nullable(),
    error: z.string().nullable(),
    response: z.string().nullable().meta({ description: 'First 500 characters of the last response body.' }),
    trace_id: z.string().nullable(),
  })
  .meta({ id: 'OperatedDelivery' });
export type OperatedDelivery = z.infer<typeof OperatedDelivery>;

export const EndpointWithDeliveries = OperatedEndpoint.extend({
  description: z.string(),
  events: z.array(z.string()),
  deliveries: z.array(OperatedDelivery).meta({ description: 'The last 50 deliveries, newest first.' }),
}).meta({ id: 'EndpointWithDeliveries' });

export const operatedEndpointPath = z.object({ endpoint_id: uuid });
export const ReasonInput = z.object(reasonFields);
export const EndpointReplayInput = z.object({
  since: instant.meta({
    description: 'Replays deliveries since this time that failed, were skipped, or wait after a failed attempt.',
  }),
  ...reasonFields,
});
export const OperatorResendInput = z.object({
  since: instant.meta({ description: 'Start of the period in which the messages failed, at most 7 days ago.' }),
  until: instant.optional().meta({ description: 'End of the period, exclusive. Default: now.' }),
  code: text(50, 1).optional().meta({ description: 'Only messages whose `error.code` is this.' }),
  ...reasonFields,
});
