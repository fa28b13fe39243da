import { z } from 'zod';
import { eventEnvelope } from '../core/event.ts';
import { timestamp, uuid } from '../core/fields.ts';

export const Endpoint = z
  .object({
    id: z.guid().meta({ description: 'Id of the endpoint.' }),
    url: z.string().meta({ description: 'URL that receives events by POST.' }),
    description: z.string().meta({ description: 'Your note about the endpoint; may be empty.' }),
    events: z
      .array(z.string())
      .meta({ description: 'Event kinds that the endpoint receives, families such as `order.*`, or `*` for all.' }),
    active: z.boolean().meta({
      description: 'Whether the endpoint receives events; while it is disabled, new deliveries are skipped.',
    }),
    disabled_reason: z
      .string()
      .nullable()
      .meta({ description: 'Why the platform disabled the endpoint, as a sentence; null if it did not.' }),
    paused: z
      .boolean()
      .meta({ description: 'Whether deliveries wait: they are created and stay pending, without any attempt.' }),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'WebhookEndpoint', description: 'A URL of yours that receives events.' });
export type Endpoint = z.infer<typeof Endpoint>;

export const EndpointWithSecret = Endpoint.extend({
  secret: z
    .string()
    .meta({ description: 'Secret that signs deliveries as in Standard Webhooks; only this response contains it.' }),
}).meta({ id: 'WebhookEndpointWithSecret', description: 'A new endpoint with its signing secret.' });

export const deliveryStatus = z.enum(['pending', 'delivered', 'failed', 'skipped']).meta({
  description:
    '`pending`: waits for its next attempt. `delivered`: an attempt got 2xx. `failed`: no more attempts follow. `skipped`: the endpoint was disabled.',
});
export type DeliveryStatus = z.infer<typeof deliveryStatus>;

export const tryError = z.enum(['timeout', 'dns', 'tls', 'refused', 'blocked', 'too_large', 'http']).meta({
  description:
    '`timeout`: no complete response within 15 s. `dns`: the name did not resolve. `tls`: the TLS handshake failed. `refused`: the connection was refused, or the host was unreachable. `blocked`: the address is not public. `too_large`: the response exceeds 64 KiB. `http`: the connection broke, or the response was no valid HTTP.',
});

export const deliveryReason = z.enum(['exhausted', 'endpoint_disabled', 'endpoint_deleted']).meta({
  description: '`exhausted`: the last scheduled attempt failed. Otherwise the endpoint was disabled or deleted.',
});

export const DeliveryTry = z
  .object({
    number: z.int().meta({ description: 'Counts from 1; redeliveries and replays continue the count.' }),
    at: timestamp.meta({ description: 'When the attempt began.' }),
    status: z.int().nullable().meta({ description: 'HTTP status of the response; null if there was none.' }),
    error: tryError.nullable().meta({
      description: 'Why there was no complete response; null if there was one, whatever its status.',
    }),
    duration_ms: z.int().meta({ description: 'Milliseconds from the start to the last byte of the response.' }),
    trigger: z.enum(['scheduled', 'manual']).meta({
      description: '`manual`: the first attempt after a redelivery or a replay. `scheduled`: any other attempt.',
    }),
  })
  .meta({ id: 'DeliveryTry', description: 'One attempt: a POST to the endpoint.' });
export type DeliveryTry = z.infer<typeof DeliveryTry>;

export const AnyEnvelope = z
  .object({
    id: eventEnvelope.shape.id,
    type: z.string().meta({ description: 'Kind of the event, such as `order.created`.' }),
    timestamp: eventEnvelope.shape.timestamp,
    account: eventEnvelope.shape.account,
    mode: eventEnvelope.shape.mode,
    data: z.record(z.string(), z.unknown()).meta({
      description: 'The resource after the change, under its name, such as `order`, and other fields of the kind.',
    }),
  })
  .meta({ id: 'Event', description: 'An event as in a webhook.' });

export const RecordedEvent = AnyEnvelope.extend({
  sequence: z.int().meta({
    description:
      "The event's number in its account: from 1, without gaps, in the order in which the platform recorded the events.",
  }),
}).meta({ id: 'RecordedEvent', description: 'An event with its `sequence`.' });
export type RecordedEvent = z.infer<typeof RecordedEvent>;

export const Delivery = z
  .object({
    id: z.guid().meta({ description: 'Id of the delivery.' }),
    event: z.string().meta({ description: 'Kind of the event.' }),
    event_id: z.guid().meta({ description: 'Id of the event, the same as in the header `webhook-id`.' }),
    status: deliveryStatus,
    reason: deliveryReason.nullable().meta({ description: 'Why the delivery failed or was skipped; otherwise null.' }),
    url: z.string().meta({ description: "URL of the last attempt; before the first attempt, the endpoint's URL." }),
    payload: AnyEnvelope,
    response: z
      .object({
        status: z.int().meta({ description: 'HTTP status of the response.' }),
        body: z.string().meta({ description: 'First 2 KiB of the body.' }),
        duration_ms: DeliveryTry.shape.duration_ms,
      })
      .meta({ id: 'DeliveryResponse', description: 'A response from the endpoint.' })
      .nullable()
      .meta({ description: 'The last response; null if there was none.' }),
    tries: z.array(DeliveryTry).meta({ description: 'The last 100 attempts, oldest first.' }),
    next_try_at: timestamp.nullable().meta({ description: 'When the next attempt is due; null unless `pending`.' }),
    created_at: timestamp,
  })
  .meta({ id: 'Delivery', description: 'The delivery of an event to an endpoint, with its attempts.' });
export type Delivery = z.infer<typeof Delivery>;

export const Replay = z
  .object({
    id: z.guid().meta({ description: 'Id of the replay.' }),
    status: z
      .enum(['running', 'completed', 'failed'])
      .meta({ description: '`failed`: the endpoint was disabled or deleted before the replay completed.' }),
    matched: z.int().meta({ description: 'Number of matching deliveries when the replay was requested.' }),
    done: z.int().meta({ description: 'How many of them were scheduled again; equals `matched` once completed.' }),
  })
  .meta({ id: 'Replay', description: "A replay of an endpoint's deliveries of a period." });

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
  event_id: uuid.meta({ description: 'Id of an event, as in the header `webhook-id`.' }),
});
