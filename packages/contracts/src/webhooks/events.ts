import { z } from 'zod';
import { eventsOf, previous } from '../core/event.ts';
import { changeError, internalRequest } from '../core/request.ts';
import { deliveryStatus, Endpoint } from './resources.ts';

const { publicEvent } = eventsOf('webhooks');

/** An endpoint in an event. During a rolling update, processes of the previous release publish it without `paused`. */
const EndpointOfEvent = Endpoint.extend({ paused: Endpoint.shape.paused.optional() }).meta({
  description: 'The endpoint that the event is about.',
});

/** Sent by the test operation to one endpoint, regardless of its filter. */
export const webhookTest = publicEvent(
  'webhook.test',
  z.object({ webhook: EndpointOfEvent }),
  'You called POST /v1/webhooks/{endpoint_id}/test. Only that endpoint gets it, regardless of its filter.',
);

/** The platform disabled an endpoint that responded with 410, or that only failed for five days. */
export const webhookDisabled = publicEvent(
  'webhook.disabled',
  z.object({ webhook: EndpointOfEvent, previous }),
  'The platform disabled an endpoint: it responded with 410, or every delivery failed for five days. Your other endpoints get the event.',
);

/** Returns the deliveries of at most 50 events, oldest first, at most 100. */
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
        at: z.iso.datetime().meta({ description: 'Time of the last attempt, or of creation if there was none.' }),
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
  /** Deliveries that failed for good in the last day, at most 1,000; only set if the request names an account. */
  failed_24h: z.number().nullish(),
});
export type AnyEndpoint = z.infer<typeof anyEndpoint>;

/** Returns endpoints of all accounts, longest failing first, after the endpoint `after`; null if that endpoint does not exist. */
export const listAllEndpoints = internalRequest(
  'listAllEndpoints',
  'webhooks',
  z.object({
    failing: z.boolean().optional(),
    /** Only endpoints that the platform disabled since this time. */
    disabled_since: z.iso.datetime().optional(),
    /** Only endpoints whose URL contains this text, ignoring case. */
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

/** Returns an endpoint of any account with its last 50 deliveries, newest first; null if it does not exist. */
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

/** Enables an endpoint of the account; `matched` is 0 if it was enabled. Returns null if it does not exist. */
export const enableAnyEndpoint = internalRequest(
  'enableAnyEndpoint',
  'webhooks',
  z.object({ endpoint: z.guid() }),
  z.object({ matched: z.int(), disabled_reason: z.string().nullable() }).nullable(),
);

/** Starts a replay of an endpoint's undelivered deliveries since a time. Returns null if the endpoint does not exist. */
export const replayAnyEndpoint = internalRequest(
  'replayAnyEndpoint',
  'webhooks',
  z.object({ endpoint: z.guid(), since: z.iso.datetime() }),
  z.object({ matched: z.int(), refusal: changeError }).nullable(),
);
