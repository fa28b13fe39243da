import { z } from 'zod';
import { accountMode } from '../core/event.ts';
import { timestamp, uuid } from '../core/fields.ts';

export const Endpoint = z
  .object({
    id: z.guid(),
    url: z.string(),
    description: z.string(),
    events: z.array(z.string()),
    active: z.boolean(),
    disabled_reason: z.string().nullable().meta({ description: 'Why the platform switched the endpoint off.' }),
    paused: z.boolean().meta({ description: 'Deliveries are created and stay pending; none is tried.' }),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'WebhookEndpoint' });
export type Endpoint = z.infer<typeof Endpoint>;

export const EndpointWithSecret = Endpoint.extend({
  secret: z
    .string()
    .meta({ description: 'Secret that signs deliveries (Standard Webhooks), shown only in this response.' }),
}).meta({ id: 'WebhookEndpointWithSecret' });

export const deliveryStatus = z.enum(['pending', 'delivered', 'failed', 'skipped']);
export type DeliveryStatus = z.infer<typeof deliveryStatus>;

export const tryError = z.enum(['timeout', 'dns', 'tls', 'refused', 'blocked', 'too_large', 'http']);

export const deliveryReason = z.enum(['exhausted', 'endpoint_disabled', 'endpoint_deleted']);

export const DeliveryTry = z
  .object({
    number: z.int(),
    at: timestamp,
    status: z.int().nullable().meta({ description: 'HTTP status of the response.' }),
    error: tryError.nullable(),
    duration_ms: z.int(),
    trigger: z.enum(['scheduled', 'manual']),
  })
  .meta({ id: 'DeliveryTry' });
export type DeliveryTry = z.infer<typeof DeliveryTry>;

export const AnyEnvelope = z
  .object({
    id: z.guid(),
    type: z.string(),
    timestamp,
    account: z.guid(),
    mode: accountMode,
    data: z.record(z.string(), z.unknown()),
  })
  .meta({ id: 'Event' });

export const RecordedEvent = AnyEnvelope.extend({
  sequence: z.int().meta({
    description:
      "The event's number in its account: from 1, without gaps, in the order in which the platform recorded events.",
  }),
}).meta({ id: 'RecordedEvent' });
export type RecordedEvent = z.infer<typeof RecordedEvent>;

export const Delivery = z
  .object({
    id: z.guid(),
    event: z.string().meta({ description: 'Kind of the event.' }),
    event_id: z.guid(),
    status: deliveryStatus,
    reason: deliveryReason.nullable().meta({ description: 'Why the delivery failed or was skipped.' }),
    url: z.string(),
    payload: AnyEnvelope,
    response: z
      .object({
        status: z.int(),
        body: z.string().meta({ description: 'First 2 KiB of the body.' }),
        duration_ms: z.int(),
      })
      .meta({ id: 'DeliveryResponse' })
      .nullable()
      .meta({ description: 'The latest response.' }),
    tries: z.array(DeliveryTry),
    next_try_at: timestamp.nullable(),
    created_at: timestamp,
  })
  .meta({ id: 'Delivery' });
export type Delivery = z.infer<typeof Delivery>;

export const Replay = z
  .object({ id: z.guid(), status: z.enum(['running', 'completed', 'failed']), matched: z.int(), done: z.int() })
  .meta({ id: 'Replay' });

export const endpointPath = z.object({ endpoint_id: uuid.meta({ param: { id: 'EndpointId' } }) });
export const deliveryPath = endpointPath.extend({ delivery_id: uuid });
export const replayPath = endpointPath.extend({ replay_id: uuid });
export const eventPath = z.object({ event_id: uuid });
