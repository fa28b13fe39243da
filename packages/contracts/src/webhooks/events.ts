import { z } from 'zod';
import { eventsOf, previous } from '../core/event.ts';
import { internalRequest } from '../core/request.ts';
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
});
export type AnyEndpoint = z.infer<typeof anyEndpoint>;

/** Returns endpoints of all accounts, longest failing first, after the one named: null where that is not there. */
export const listAllEndpoints = internalRequest(
  'listAllEndpoints',
  'webhooks',
  z.object({
    failing: z.boolean().optional(),
    account: z.guid().optional(),
    endpoint: z.guid().optional(),
    after: z.guid().optional(),
    limit: z.int(),
  }),
  z.object({ endpoints: z.array(anyEndpoint) }).nullable(),
);
