import { z } from 'zod';
import { eventEnvelope } from '../core/event.ts';
import { timestamp, uuid } from '../core/fields.ts';

export const Endpoint = z
  .object({
    id: z.guid().meta({ description: 'Names the endpoint in paths.' }),
    url: z.string().meta({ description: 'URL to which events are sent by POST.' }),
    description: z.string().meta({ description: 'Your own note of what the endpoint is for; may be empty.' }),
    events: z
      .array(z.string())
      .meta({ description: 'Kinds of events that it gets, families such as `order.*`, or `*` for all.' }),
    active: z.boolean().meta({
      description: 'Whether events are sent to it; while it is switched off, deliveries are skipped.',
    }),
    disabled_reason: z
      .string()
      .nullable()
      .meta({ description: 'Why the platform switched the endpoint off, as a sentence; null if it did not.' }),
    paused: z
      .boolean()
      .meta({ description: 'Whether deliveries wait: they are created and stay pending, and none is tried.' }),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'WebhookEndpoint', description: 'A URL of yours to which events are sent.' });
export type Endpoint = z.infer<typeof Endpoint>;

export const EndpointWithSecret = Endpoint.extend({
  secret: z
    .string()
    .meta({ description: 'Secret that signs deliveries (Standard Webhooks), shown only in this response.' }),
}).meta({ id: 'WebhookEndpointWithSecret', description: 'A new endpoint with its signing secret.' });

export const deliveryStatus = z.enum(['pending', 'delivered', 'failed', 'skipped']).meta({
  description:
    '`pending`: it waits for its next try. `delivered`: a try got 2xx. `failed`: given up. `skipped`: the endpoint was switched off.',
});
export type DeliveryStatus = z.infer<typeof deliveryStatus>;

export const tryError = z.enum(['timeout', 'dns', 'tls', 'refused', 'blocked', 'too_large', 'http']).meta({
  description:
    '`timeout`: no whole response in time, 15 s. `blocked`: a private address. `too_large`: over 64 KiB. `http`: a broken connection.',
});

export const deliveryReason = z.enum(['exhausted', 'endpoint_disabled', 'endpoint_deleted']).meta({
  description: '`exhausted`: the last try of the schedule failed. Otherwise the endpoint was switched off or deleted.',
});

export const DeliveryTry = z
  .object({
    number: z.int().meta({ description: 'Counts up from 1, on after a redelivery or a replay.' }),
    at: timestamp.meta({ description: 'When the try began.' }),
    status: z.int().nullable().meta({ description: 'HTTP status of the response; null if none came.' }),
    error: tryError.nullable().meta({
      description: 'Why there was no whole response; null if there was one, whatever its status.',
    }),
    duration_ms: z.int().meta({ description: 'Milliseconds from the call to the last byte of the response.' }),
    trigger: z.enum(['scheduled', 'manual']).meta({
      description: '`manual`: the first try after a redelivery or a replay. `scheduled`: any other.',
    }),
  })
  .meta({ id: 'DeliveryTry', description: 'A POST to the endpoint.' });
export type DeliveryTry = z.infer<typeof DeliveryTry>;

export const AnyEnvelope = z
  .object({
    id: eventEnvelope.shape.id,
    type: z.string().meta({ description: 'Kind of the event, such as `order.created`.' }),
    timestamp: eventEnvelope.shape.timestamp,
    account: eventEnvelope.shape.account,
    mode: eventEnvelope.shape.mode,
    data: z.record(z.string(), z.unknown()).meta({
      description:
        'The resource under its name, such as `order`, as it is after the change, and what else the kind has.',
    }),
  })
  .meta({ id: 'Event', description: 'An event, as webhooks send it.' });

export const RecordedEvent = AnyEnvelope.extend({
  sequence: z.int().meta({
    description:
      "The event's number in its account: from 1, without gaps, in the order in which the platform recorded events.",
  }),
}).meta({ id: 'RecordedEvent', description: 'An event with its number.' });
export type RecordedEvent = z.infer<typeof RecordedEvent>;

export const Delivery = z
  .object({
    id: z.guid().meta({ description: 'Names the delivery in paths.' }),
    event: z.string().meta({ description: 'Kind of the event.' }),
    event_id: z.guid().meta({ description: 'Id of the event, which the header `webhook-id` has.' }),
    status: deliveryStatus,
    reason: deliveryReason.nullable().meta({ description: 'Why the delivery failed or was skipped; otherwise null.' }),
    url: z.string().meta({ description: "URL of the latest try; before the first, the endpoint's." }),
    payload: AnyEnvelope,
    response: z
      .object({
        status: z.int().meta({ description: 'HTTP status of the response.' }),
        body: z.string().meta({ description: 'First 2 KiB of the body.' }),
        duration_ms: DeliveryTry.shape.duration_ms,
      })
      .meta({ id: 'DeliveryResponse', description: 'A response of the endpoint.' })
      .nullable()
      .meta({ description: 'The latest response; null if there was none.' }),
    tries: z.array(DeliveryTry).meta({ description: 'The last 100 tries, oldest first.' }),
    next_try_at: timestamp.nullable().meta({ description: 'When it is due to be tried; null unless pending.' }),
    created_at: timestamp,
  })
  .meta({ id: 'Delivery', description: 'The sending of an event to an endpoint, with its tries.' });
export type Delivery = z.infer<typeof Delivery>;

export const Replay = z
  .object({
    id: z.guid().meta({ description: 'Names the replay in paths.' }),
    status: z
      .enum(['running', 'completed', 'failed'])
      .meta({ description: '`failed`: the endpoint was switched off before the end.' }),
    matched: z.int().meta({ description: 'Number of deliveries of the period when the replay was requested.' }),
    done: z.int().meta({ description: 'How many of them are on their way or sent again; `matched` once completed.' }),
  })
  .meta({ id: 'Replay', description: "The repeated sending of an endpoint's deliveries of a period." });

export const endpointPath = z.object({
  endpoint_id: uuid.meta({ description: 'Id of a webhook endpoint.', param: { id: 'EndpointId' } }),
});
export const deliveryPath = endpointPath.extend({
  delivery_id: uuid.meta({ description: 'Id of a delivery to the endpoint.' }),
});
export const replayPath = endpointPath.extend({
  replay_id: uuid.meta({ description: 'Id of a replay of the endpoint.' }),
});
export const eventPath = z.object({
  event_id: uuid.meta({ description: 'Id of an event, which the header `webhook-id` has.' }),
});
