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
  .regex(/^\d{1,100}$/, 'must be the sequence of an event: an integer of at least 0, such as 5');
const afterSequence = sequence.optional().meta({
  description: 'Only events with a greater `sequence`.',
  example: 5,
  // Clients pass a number, like `sequence`. The API also accepts more digits than a number can hold.
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
    'Only this response contains the signing secret. An account has at most 20 endpoints; another one returns 409 `invalid_state`.',
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
  description: 'Newest first, including inactive and paused endpoints, without their secrets.',
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
  description: 'Does not return the secret. `disabled_reason` says why the platform disabled the endpoint.',
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
    'Enabling an endpoint clears `disabled_reason`. While an endpoint is `paused`, deliveries are created and stay pending; when it resumes, they are sent oldest first. Disabling it fails its pending deliveries with the reason `endpoint_disabled`.',
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
  description: 'Its pending deliveries fail with the reason `endpoint_deleted`.',
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
    'Both secrets sign deliveries during the overlap. Earlier secrets also sign until their own overlap ends, at most five secrets in total. With `overlap_seconds` 0, all former secrets end immediately.',
  params: endpointPath,
  body: z.object({
    overlap_seconds: z.int().min(0).max(604_800).default(86_400).meta({
      description: 'How long the replaced secret also signs, in seconds.',
    }),
  }),
  status: 200,
  response: z.object({
    secret: z.string().meta({ description: 'The new secret: `whsec_` and base64. Only this response contains it.' }),
  }),
  respondsWithSecret: true,
  errors: ['not_found'],
});

export const testEndpoint = operation('testEndpoint', {
  method: 'POST',
  path: '/v1/webhooks/{endpoint_id}/test',
  scope: write,
  summary: 'Test a webhook endpoint',
  description: 'Sends `webhook.test` to the endpoint, regardless of its filter. A disabled endpoint skips it.',
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
  description: 'Newest first. Each delivery has its payload, the last response and the last 100 attempts.',
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
    'Returns the payload, the last response and the last 100 attempts. A delivery is available for 30 days, unless the installation sets another retention.',
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
  description: 'Sends a delivery of any status again, with a new retry schedule. 409 if the endpoint is disabled.',
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
    'Sends the deliveries of a period again, in the background and with the full retry schedule. An endpoint has at most 10 running replays; another one returns 409 `invalid_state`, and so does a disabled endpoint.',
  params: endpointPath,
  body: z.object({
    since: instant.meta({ description: 'Start of the period in which the deliveries were created; in the past.' }),
    until: instant.optional().meta({ description: 'End of the period, exclusive. Default: now.' }),
    status: z.enum(['failed', 'all']).default('failed').meta({
      description: '`failed`: deliveries that failed, were skipped, or wait for a retry. `all`: every delivery.',
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
  description: "Returns a replay's status and progress, for as long as deliveries are available.",
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
    "The account's events of the last 30 days, unless the installation sets another retention. Newest first, with `sequence`. With `after_sequence`, events with a greater number, in ascending order: pass `next` as `after_sequence` to get the following page. `after_sequence` and `starting_after` exclude each other.",
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
    "Server-Sent Events: `id` is the event's `sequence`, `event` its kind, and `data` its envelope. The stream starts with the next event, or after `Last-Event-ID` or `after_sequence`, within the last 30 days. The platform sends a comment every 15 s. A key may have 5 streams, and an account with its sandbox 100 at each gateway; another stream returns 429 `rate_limited`. The platform closes a stream whose reader takes nothing for 10 s. Resume with `Last-Event-ID`, which every EventSource sends automatically.",
  headers: z.object({
    'Last-Event-ID': sequence.optional().meta({
      description: 'The last `id` that you received. Takes precedence over `after_sequence`.',
    }),
  }),
  query: z.object({
    types: eventFilters.optional().meta({
      description: 'Event kinds, families such as `order.*`, or `*`, separated by commas. Default: all kinds.',
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
    "Sends the example of a kind to the sandbox's endpoints and streams, and records it like any event. Nothing else in the sandbox changes: resources in the event do not exist, unless `data` names existing ones. Needs a test key; a live key gets 404.",
  body: z.object({
    type: publicKind.meta({ description: 'Kind of the event to send.' }),
    data: z.record(z.string(), z.unknown()).optional().meta({
      description:
        "Values that replace those in the example's `data`. In a resource, only the given fields are replaced. The result must match the schema of the kind.",
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
  description: 'Returns every event kind with the JSON Schema of its envelope.',
  status: 200,
  response: z.object({
    data: z
      .array(
        z
          .object({
            kind: z.string().meta({ description: 'The `type` of its events, such as `order.created`.' }),
            schema: z
              .record(z.string(), z.unknown())
              .meta({ description: 'JSON Schema of the whole event in a webhook.' }),
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
  description: 'Returns the event as in a webhook, with its `sequence`, for as long as `GET /v1/events` lists it.',
  params: eventPath,
  status: 200,
  response: RecordedEvent,
  errors: ['not_found'],
});
