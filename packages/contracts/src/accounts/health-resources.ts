import { z } from 'zod';
import { channel } from '../core/channel.ts';
import { instant, text, timestamp, uuid } from '../core/fields.ts';
import { moduleNames, serviceNames } from '../core/modules.ts';
import { OperatedEndpoint, reasonFields } from './operator-resources.ts';
import { RateLimit } from './resources.ts';

const count = z.int().min(0);
const gone = z.array(z.enum(serviceNames)).meta({
  description: 'Services that did not reply: what they know is missing. The gateway is among them where NATS is gone.',
});

/** What an account met lately: its requests, messages, endpoints and plans. */
export const AccountHealth = z
  .object({
    requests: z.object({
      last_hour: z.object({
        total: count,
        by_code: z.record(z.string(), count).meta({ description: 'Number of refusals by error code.' }),
      }),
    }),
    rate_limit: RateLimit.meta({ description: 'That of each key without one of its own.' }),
    keys: z
      .array(
        z.object({
          id: z.guid(),
          name: z.string(),
          last4: z.string(),
          rate_limit: RateLimit.nullable().meta({ description: "Its own; null where the account's holds." }),
          ended_at: timestamp.nullable().meta({ description: 'When it was revoked, or expired.' }),
          requests: count,
          limited: count.meta({ description: 'Requests beyond the rate limit.' }),
          addresses: z.array(z.string()).meta({ description: 'Client addresses, five at most.' }),
        }),
      )
      .meta({ description: 'Keys that were used in the last hour, most requests first, 50 at most.' }),
    messages: z.object({
      failed_24h: z
        .array(z.object({ channel, code: z.string(), count, last_at: timestamp, last_error: z.string() }))
        .meta({
          description:
            'Messages that failed or were refused and were not sent again, by channel and error code, most first.',
        }),
      channels: z.array(
        z.object({
          channel,
          provider: z.string(),
          status: z.enum(['ready', 'failing']),
          error: z.string().nullable(),
          failing_since: timestamp.nullable(),
          held: count.meta({
            description: 'Messages that wait for it because it is failing, 1,000 where there are more.',
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
        failed_24h: count.meta({ description: 'Deliveries that were given up, 1,000 where there are more.' }),
      }),
    ),
    plans: z.object({ failed_24h: count, last_error: z.string().nullable() }),
    modules_off: z.array(z.enum(moduleNames)).meta({
      description: 'Modules whose operations get 404 module_off: switched off, or not in the plan.',
    }),
    suspended: z.boolean(),
    gone,
  })
  .meta({ id: 'AccountHealth' });
export type AccountHealth = z.infer<typeof AccountHealth>;

/** What customers meet that somebody should look at. */
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
      .meta({ description: 'Channels whose provider refuses the credentials, longest failing first.' }),
    accounts: z
      .array(
        z.object({
          account: z.guid(),
          account_name: z.string(),
          failed_messages: count.meta({ description: 'Messages that failed in the last hour.' }),
          requests: count.meta({ description: 'Requests in the last hour.' }),
          refused: count.meta({ description: 'Those with a status of 4xx, of 404 only module_off.' }),
          reasons: z.array(z.enum(['messages', 'modules', 'refusals'])).meta({
            description: '`modules` where the refusals are mostly module_off, and `refusals` where they are not.',
          }),
        }),
      )
      .meta({
        description:
          'Accounts with more than 20 failed messages, or more than 5 % refused of 50 requests or more, in the last hour.',
      }),
    endpoints: z
      .array(OperatedEndpoint.extend({ account_name: z.string() }))
      .meta({ description: 'Endpoints that were disabled in the last day.' }),
    addresses: z
      .array(z.object({ address: z.string(), invalid_keys: count, last_at: timestamp }))
      .meta({ description: 'Client addresses with more than 100 invalid keys in a minute of the last hour.' }),
    gone,
  })
  .meta({ id: 'CustomerAttention', description: 'At most 100 of each.' });
export type CustomerAttention = z.infer<typeof CustomerAttention>;

/** A delivery of an endpoint as operators see it. */
export const OperatedDelivery = z
  .object({
    id: z.guid(),
    event: z.string().meta({ description: 'Kind of the event.' }),
    event_id: z.guid(),
    status: z.string(),
    tries: count,
    at: timestamp.meta({ description: 'When it was last tried, or created if it was not.' }),
    response_status: z.int().nullable(),
    error: z.string().nullable(),
    response: z.string().nullable().meta({ description: 'Beginning of the body of the last response.' }),
    trace_id: z.string().nullable(),
  })
  .meta({ id: 'OperatedDelivery' });
export type OperatedDelivery = z.infer<typeof OperatedDelivery>;

export const EndpointWithDeliveries = OperatedEndpoint.extend({
  description: z.string(),
  events: z.array(z.string()),
  deliveries: z.array(OperatedDelivery).meta({ description: 'The last 50, newest first.' }),
}).meta({ id: 'EndpointWithDeliveries' });

export const operatedEndpointPath = z.object({ endpoint_id: uuid });
export const ReasonInput = z.object(reasonFields);
export const EndpointReplayInput = z.object({
  since: instant.meta({
    description: 'Deliveries since then that failed, were skipped, or wait after a failed try.',
  }),
  ...reasonFields,
});
export const OperatorResendInput = z.object({
  since: instant.meta({ description: 'Start of the period in which they failed: at most 7 days ago.' }),
  until: instant.optional().meta({ description: 'End of the period, exclusive; default: now.' }),
  code: text(50, 1).optional().meta({ description: 'Only messages whose `error.code` is this.' }),
  ...reasonFields,
});
