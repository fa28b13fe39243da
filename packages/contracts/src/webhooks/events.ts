import { z } from 'zod';
import { eventsOf, previous } from '../core/event.ts';
import { changeRefusal, internalRequest } from '../core/request.ts';
import { deliveryStatus, Endpoint } from './resources.ts';

const { publicEvent } = eventsOf('webhooks');

/** An endpoint in an event. Processes of the release before publish it without `paused`. */
const EndpointOfEvent = Endpoint.extend({ paused: Endpoint.shape.paused.optional() }).meta({
  description: 'The endpoint that the event is about.',
});

/** Sent to one endpoint by the test operation, regardless of its filter. */
export const webhookTest = publicEvent(
  'webhook.test',
  z.object({ webhook: EndpointOfEvent }),
  'You asked for it with POST /v1/webhooks/{endpoint_id}/test: sent to that endpoint alone, whatever its filter.',
);

/** The platform switched an endpoint off: it responded with 410, or failed for five days. */
export const webhookDisabled = publicEvent(
  'webhook.disabled',
  z.object({ webhook: EndpointOfEvent, previous }),
  'The platform switched an endpoint off: it responded with 410, or failed for five days. Sent to your other endpoints.',
);

/** Returns the deliveries of these events, oldest first; at most 100. */
export const findDeliveries = internalRequest(
  'findDeliveries',
  'webhooks',
  z.object({ events: z.array(z.guid()).max(50) }),
  z.object({
    deliveries: z.array(
      z.object({
        delivery: z.guid(),
        endpoint: z.guid(),
        event: z.string(),
        status: deliveryStatus,
        at: z.iso.datetime().meta({ description: 'When the delivery was last tried, or created if it was not.' }),
        response_status: z.int().nullable(),
      }),
    ),
  }),
);

/** An endpoint as operators see it. */
const anyEndpoint = z.object({
  id: z.guid(),
  account: z.guid(),
  url: z.string(),
  active: z.boolean(),
  paused: z.boolean(),
  disabled_reason: z.string().nullable(),
  failing_since: z.iso.datetime().nullable(),
  pending: z.number(),
  last_error: z.string().nullable(),
  last_error_at: z.iso.datetime().nullable(),
  last_error_trace_id: z.string().nullish(),
  /** Deliveries that were given up in the last day, 1,000 where there are more; only where one account is asked for. */
  failed_24h: z.number().nullish(),
});
export type AnyEndpoint = z.infer<typeof anyEndpoint>;

/** Returns endpoints of all accounts, longest failing first, after the one named: null where that is not there. */
export const listAllEndpoints = internalRequest(
  'listAllEndpoints',
  'webhooks',
  z.object({
    failing: z.boolean().optional(),
    /** Only those that the platform switched off since then. */
    disabled_since: z.iso.datetime().optional(),
    /** Only those whose URL has this, in whatever case. */
    url: z.string().optional(),
    account: z.guid().optional(),
    endpoint: z.guid().optional(),
    after: z.guid().optional(),
    limit: z.int(),
  }),
  z.object({ endpoints: z.array(anyEndpoint) }).nullable(),
);

/** A delivery as operators see it. */
const anyDelivery = z.object({
  id: z.guid(),
  event: z.string(),
  event_id: z.guid(),
  status: deliveryStatus,
  tries: z.int(),
  at: z.iso.datetime(),
  response_status: z.int().nullable(),
  error: z.string().nullable(),
  response: z.string().nullable(),
  trace_id: z.string().nullable(),
});

/** Returns an endpoint of any account with its last 50 deliveries, newest first; null where there is none. */
export const findAnyEndpoint = internalRequest(
  'findAnyEndpoint',
  'webhooks',
  z.object({ endpoint: z.guid() }),
  z
    .object({
      endpoint: anyEndpoint.extend({ description: z.string(), events: z.array(z.string()) }),
      deliveries: z.array(anyDelivery),
    })
    .nullable(),
);

/** Switches an endpoint of an account on again; `matched` is 0 where it was on. Null where there is none. */
export const enableAnyEndpoint = internalRequest(
  'enableAnyEndpoint',
  'webhooks',
  z.object({ endpoint: z.guid() }),
  z.object({ matched: z.int(), disabled_reason: z.string().nullable() }).nullable(),
);

/** Begins a replay of what an endpoint of an account missed since a time, as its customer can; null where there is none. */
export const replayAnyEndpoint = internalRequest(
  'replayAnyEndpoint',
  'webhooks',
  z.object({ endpoint: z.guid(), since: z.iso.datetime() }),
  z.object({ matched: z.int(), refusal: changeRefusal }).nullable(),
);
