import { z } from 'zod';
import { instant } from '../core/fields.ts';
import { operationsOf } from '../core/operation.ts';
import { pageOf, pageQuery } from '../core/page.ts';
import { EndpointChange, EndpointInput } from './endpoint-inputs.ts';
import { eventFilters, publicKind } from './event-kinds.ts';
import { webhookTest } from './events.ts';
import {
  AnyEnvelope,
  Delivery,
  deliveryPath,
  deliveryStatus,
  Endpoint,
  EndpointWithSecret,
  endpointPath,
  eventPath,
  RecordedEvent,
  Replay,
  replayPath,
} from './resources.ts';

const operation = operationsOf('webhooks', null);
const sequence = z
  .string()
  .regex(/^\d{1,100}$/, 'must be the sequence of an event: a decimal integer of 0 or more, such as 5');
const afterSequence = sequence.optional().meta({
  description: 'Only events with a greater `sequence`.',
  example: 5,
  // Clients have a number, as `sequence` is; digits beyond all numbers are taken too.
  override: ({ jsonSchema }: { jsonSchema: object }) =>
    Object.assign(jsonSchema, { type: 'integer', minimum: 0, pattern: undefined }),
});
const read = 'webhooks:read';
const write = 'webhooks:write';

export const createEndpoint = operation('createEndpoint', {
  method: 'POST',
  path: '/v1/webhooks',
  scope: write,
  summary: 'Create a webhook endpoint',
  description:
    'Its signing secret is shown only in this response. An account has at most 20 endpoints; one more is refused with 409 invalid_state.',
  body: EndpointInput,
  status: 201,
  response: EndpointWithSecret,
  respondsWithSecret: true,
  errors: ['invalid_state'],
});

export const listEndpoints = operation('listEndpoints', {
  method: 'GET',
  path: '/v1/webhooks',
  scope: read,
  summary: 'List webhook endpoints',
  description: 'Newest first, inactive and paused ones included, without their secrets.',
  query: z.object(pageQuery),
  status: 200,
  response: pageOf(Endpoint),
  errors: [],
});

export const getEndpoint = operation('getEndpoint', {
  method: 'GET',
  path: '/v1/webhooks/{endpoint_id}',
  scope: read,
  summary: 'Retrieve a webhook endpoint',
  description: 'Its secret is not shown again. `disabled_reason` says why the platform switched it off.',
  params: endpointPath,
  status: 200,
  response: Endpoint,
  errors: ['not_found'],
});

export const updateEndpoint = operation('updateEndpoint', {
  method: 'PATCH',
  path: '/v1/webhooks/{endpoint_id}',
  scope: write,
  summary: 'Update a webhook endpoint',
  description:
    'Switching it on again clears `disabled_reason`. While it is `paused`, deliveries are created and stay pending; resumed, they go out oldest first. Switching it off ends them.',
  params: endpointPath,
  body: EndpointChange,
  status: 200,
  response: Endpoint,
  errors: ['not_found'],
});

export const deleteEndpoint = operation('deleteEndpoint', {
  method: 'DELETE',
  path: '/v1/webhooks/{endpoint_id}',
  scope: write,
  summary: 'Delete a webhook endpoint',
  description: 'Its pending deliveries fail with reason endpoint_deleted.',
  params: endpointPath,
  status: 204,
  errors: ['not_found'],
});

export const rotateEndpointSecret = operation('rotateEndpointSecret', {
  method: 'POST',
  path: '/v1/webhooks/{endpoint_id}/rotate-secret',
  scope: write,
  summary: 'Rotate the signing secret',
  description:
    'Both secrets sign during the overlap. Earlier secrets whose overlap has not ended keep signing too, at most five in total. `overlap_seconds` 0 ends all former secrets immediately.',
  params: endpointPath,
  body: z.object({
    overlap_seconds: z.int().min(0).max(604_800).default(86_400).meta({
      description: 'How long the replaced secret signs beside the new one, in seconds.',
    }),
  }),
  status: 200,
  response: z.object({
    secret: z.string().meta({ description: 'The new secret, `whsec_` and base64, shown only in this response.' }),
  }),
  respondsWithSecret: true,
  errors: ['not_found'],
});

export const testEndpoint = operation('testEndpoint', {
  method: 'POST',
  path: '/v1/webhooks/{endpoint_id}/test',
  scope: write,
  summary: 'Test a webhook endpoint',
  description: 'Sends webhook.test to it, regardless of its filter.',
  params: endpointPath,
  body: z.object({}),
  status: 202,
  response: Delivery,
  errors: ['not_found'],
  emits: [webhookTest],
});

export const listDeliveries = operation('listDeliveries', {
  method: 'GET',
  path: '/v1/webhooks/{endpoint_id}/deliveries',
  scope: read,
  summary: 'List webhook deliveries',
  description: 'Newest first. Each has the event, what was sent, the response and the tries.',
  params: endpointPath,
  query: z.object({
    status: deliveryStatus.optional().meta({ description: 'Only deliveries with this status.' }),
    event: publicKind.optional().meta({ description: 'Only events of this kind.' }),
    ...pageQuery,
  }),
  status: 200,
  response: pageOf(Delivery),
  errors: ['not_found'],
});

export const getDelivery = operation('getDelivery', {
  method: 'GET',
  path: '/v1/webhooks/{endpoint_id}/deliveries/{delivery_id}',
  scope: read,
  summary: 'Retrieve a webhook delivery',
  description:
    'Shows what was sent, the latest response and the last 100 tries, for 30 days or as long as the installation keeps them.',
  params: deliveryPath,
  status: 200,
  response: Delivery,
  errors: ['not_found'],
});

export const redeliver = operation('redeliver', {
  method: 'POST',
  path: '/v1/webhooks/{endpoint_id}/deliveries/{delivery_id}/redeliver',
  scope: write,
  summary: 'Retry a webhook delivery',
  description: 'Tries the delivery again, whatever its status.',
  params: deliveryPath,
  body: z.object({}),
  status: 202,
  response: Delivery,
  errors: ['not_found', 'invalid_state'],
});

export const replayDeliveries = operation('replayDeliveries', {
  method: 'POST',
  path: '/v1/webhooks/{endpoint_id}/replay',
  scope: write,
  summary: 'Replay webhook deliveries',
  description:
    'Sends the deliveries of a period again, in the background and with the full retry schedule. An endpoint has at most 10 running replays.',
  params: endpointPath,
  body: z.object({
    since: instant.meta({ description: 'Start of the period in which the deliveries were created; in the past.' }),
    until: instant.optional().meta({ description: 'End of the period, exclusive; default: now.' }),
    status: z.enum(['failed', 'all']).default('failed').meta({
      description: 'failed: deliveries that failed, were skipped, or wait after a failed try. all: every delivery.',
    }),
  }),
  status: 202,
  response: Replay.pick({ id: true, matched: true }),
  errors: ['not_found', 'invalid_state'],
});

export const getReplay = operation('getReplay', {
  method: 'GET',
  path: '/v1/webhooks/{endpoint_id}/replays/{replay_id}',
  scope: read,
  summary: 'Retrieve a replay',
  description: "Returns a replay's status and progress.",
  params: replayPath,
  status: 200,
  response: Replay,
  errors: ['not_found'],
});

export const listEvents = operation('listEvents', {
  method: 'GET',
  path: '/v1/events',
  scope: read,
  summary: 'List events',
  description:
    "The account's events of the last 30 days, or as many as the installation keeps, as they are sent, with their `sequence`, newest first. With `after_sequence`, those with greater numbers in ascending order: `next` is then the next `after_sequence`.",
  query: z.object({
    type: publicKind.optional().meta({ description: 'Only events of this kind.' }),
    after_sequence: afterSequence,
    ...pageQuery,
  }),
  status: 200,
  response: pageOf(RecordedEvent),
  errors: [],
});

export const streamEvents = operation('streamEvents', {
  method: 'GET',
  path: '/v1/events/stream',
  scope: read,
  summary: 'Stream events',
  description:
    "Server-Sent Events: `id` is the event's `sequence`, `event` its kind, `data` the envelope as it is sent. Begins with the next event, or after `Last-Event-ID` or `after_sequence`, of the last 30 days. A comment comes every 15 s. A key may have 5 streams, an account 100: one more is refused with 429 rate_limited. A reader that is more than 1 MiB behind is cut off, and resumes with `Last-Event-ID`, as every EventSource does by itself.",
  headers: z.object({
    'Last-Event-ID': sequence.optional().meta({
      description: 'The last `id` that was received; used instead of `after_sequence`.',
    }),
  }),
  query: z.object({
    types: eventFilters.optional().meta({
      description: 'Event kinds, families such as `order.*`, or `*`, with commas between them. Default: all.',
      example: 'order.created,contact.*',
    }),
    after_sequence: afterSequence,
  }),
  status: 200,
  streams: true,
  errors: [],
});

export const triggerEvent = operation('triggerEvent', {
  method: 'POST',
  path: '/v1/events/trigger',
  scope: write,
  summary: 'Trigger an example event',
  description:
    "Sends the example of a kind to the sandbox's endpoints and streams, and records it like any event. What it names does not exist, unless `data` names it: nothing else in the sandbox changes. Test keys alone; a live key gets 404.",
  body: z.object({
    type: publicKind.meta({ description: 'Kind of the event whose example is sent.' }),
    data: z.record(z.string(), z.unknown()).optional().meta({
      description:
        "The event's `data` in place of the example's: of each resource in it, the fields that are given. As a whole it must be what the kind has.",
    }),
  }),
  status: 202,
  response: AnyEnvelope,
  errors: ['not_found'],
});

export const listEventKinds = operation('listEventKinds', {
  method: 'GET',
  path: '/v1/events/kinds',
  scope: read,
  summary: 'List event kinds',
  description: 'Returns every kind with the JSON Schema of its envelope.',
  status: 200,
  response: z.object({
    data: z
      .array(
        z
          .object({
            kind: z.string().meta({ description: '`type` of its events, such as `order.created`.' }),
            schema: z
              .record(z.string(), z.unknown())
              .meta({ description: 'JSON Schema of the whole event, as it is sent.' }),
          })
          .meta({ id: 'DescribedEventKind', description: 'A kind of event.' }),
      )
      .meta({ description: 'All kinds, in alphabetical order.' }),
  }),
  errors: [],
});

export const getEvent = operation('getEvent', {
  method: 'GET',
  path: '/v1/events/{event_id}',
  scope: read,
  summary: 'Retrieve an event',
  description: 'Returns the event as it is sent, with its `sequence`.',
  params: eventPath,
  status: 200,
  response: RecordedEvent,
  errors: ['not_found'],
});
