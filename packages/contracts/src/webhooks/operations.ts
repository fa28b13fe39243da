import { z } from 'zod';
import { instant } from '../core/fields.ts';
import { operationsOf } from '../core/operation.ts';
import { pageOf, pageQuery } from '../core/page.ts';
import { publicKind } from '../event-kinds.ts';
import { EndpointChange, EndpointInput } from './endpoint-inputs.ts';
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
  Replay,
  replayPath,
} from './resources.ts';

const operation = operationsOf('webhooks', null);
const read = 'webhooks:read';
const write = 'webhooks:write';

export const createEndpoint = operation('createEndpoint', {
  method: 'POST',
  path: '/v1/webhooks',
  scope: write,
  summary: 'Registers an endpoint; its signing secret is shown this once',
  description: 'At most 20 per account; the 21st answers 409 invalid_state.',
  body: EndpointInput,
  status: 201,
  answer: EndpointWithSecret,
  answersSecret: true,
  errors: ['invalid_state'],
});

export const listEndpoints = operation('listEndpoints', {
  method: 'GET',
  path: '/v1/webhooks',
  scope: read,
  summary: 'Lists endpoints, newest first',
  query: z.object(pageQuery),
  status: 200,
  answer: pageOf(Endpoint),
  errors: [],
});

export const getEndpoint = operation('getEndpoint', {
  method: 'GET',
  path: '/v1/webhooks/{endpoint_id}',
  scope: read,
  summary: 'Reads an endpoint',
  params: endpointPath,
  status: 200,
  answer: Endpoint,
  errors: ['not_found'],
});

export const updateEndpoint = operation('updateEndpoint', {
  method: 'PATCH',
  path: '/v1/webhooks/{endpoint_id}',
  scope: write,
  summary: 'Changes an endpoint; switching it on again clears why it was off',
  params: endpointPath,
  body: EndpointChange,
  status: 200,
  answer: Endpoint,
  errors: ['not_found'],
});

export const deleteEndpoint = operation('deleteEndpoint', {
  method: 'DELETE',
  path: '/v1/webhooks/{endpoint_id}',
  scope: write,
  summary: 'Deletes an endpoint; its pending deliveries end as failed, endpoint_deleted',
  params: endpointPath,
  status: 204,
  errors: ['not_found'],
});

export const rotateEndpointSecret = operation('rotateEndpointSecret', {
  method: 'POST',
  path: '/v1/webhooks/{endpoint_id}/rotate-secret',
  scope: write,
  summary: 'Makes a new signing secret; during the overlap both sign',
  description:
    'Earlier secrets whose own overlap lasts go on signing too, five in all at most; overlap_seconds 0 ends every former secret at once.',
  params: endpointPath,
  body: z.object({ overlap_seconds: z.int().min(0).max(604_800).default(86_400) }),
  status: 200,
  answer: z.object({ secret: z.string() }),
  answersSecret: true,
  errors: ['not_found'],
});

export const testEndpoint = operation('testEndpoint', {
  method: 'POST',
  path: '/v1/webhooks/{endpoint_id}/test',
  scope: write,
  summary: 'Sends webhook.test to this endpoint, whatever its filter',
  params: endpointPath,
  body: z.object({}),
  status: 202,
  answer: Delivery,
  errors: ['not_found'],
  emits: [webhookTest],
});

export const listDeliveries = operation('listDeliveries', {
  method: 'GET',
  path: '/v1/webhooks/{endpoint_id}/deliveries',
  scope: read,
  summary: 'Lists the deliveries to an endpoint, newest first: each event, what was sent, its answer and its tries',
  params: endpointPath,
  query: z.object({
    status: deliveryStatus.optional(),
    event: publicKind.optional().meta({ description: 'This kind of event.' }),
    ...pageQuery,
  }),
  status: 200,
  answer: pageOf(Delivery),
  errors: ['not_found'],
});

export const getDelivery = operation('getDelivery', {
  method: 'GET',
  path: '/v1/webhooks/{endpoint_id}/deliveries/{delivery_id}',
  scope: read,
  summary: 'Reads a delivery',
  params: deliveryPath,
  status: 200,
  answer: Delivery,
  errors: ['not_found'],
});

export const redeliver = operation('redeliver', {
  method: 'POST',
  path: '/v1/webhooks/{endpoint_id}/deliveries/{delivery_id}/redeliver',
  scope: write,
  summary: 'Tries a delivery again, whatever its state',
  params: deliveryPath,
  body: z.object({}),
  status: 202,
  answer: Delivery,
  errors: ['not_found', 'invalid_state'],
});

export const replayDeliveries = operation('replayDeliveries', {
  method: 'POST',
  path: '/v1/webhooks/{endpoint_id}/replay',
  scope: write,
  summary: 'Sends the deliveries of a period again, as a durable job with the full retry schedule',
  params: endpointPath,
  body: z.object({
    since: instant,
    until: instant.optional().meta({ description: 'Exclusive; default: now.' }),
    status: z.enum(['failed', 'all']).default('failed').meta({
      description:
        'failed takes skipped ones and those that wait after a failed try too; all takes every one, whatever its state.',
    }),
  }),
  status: 202,
  answer: Replay.pick({ id: true, matched: true }),
  errors: ['not_found', 'invalid_state'],
});

export const getReplay = operation('getReplay', {
  method: 'GET',
  path: '/v1/webhooks/{endpoint_id}/replays/{replay_id}',
  scope: read,
  summary: 'Shows how far a replay is',
  params: replayPath,
  status: 200,
  answer: Replay,
  errors: ['not_found'],
});

export const listEvents = operation('listEvents', {
  method: 'GET',
  path: '/v1/events',
  scope: read,
  summary: "Lists the account's events of the last 30 days as they are sent, newest first",
  query: z.object({
    type: publicKind.optional().meta({ description: 'This kind of event.' }),
    ...pageQuery,
  }),
  status: 200,
  answer: z.object({ data: z.array(AnyEnvelope), has_more: z.boolean(), next: z.string().nullable() }),
  errors: [],
});

export const listEventKinds = operation('listEventKinds', {
  method: 'GET',
  path: '/v1/events/kinds',
  scope: read,
  summary: 'Lists every kind of event with the JSON Schema of its envelope',
  status: 200,
  answer: z.object({ data: z.array(z.object({ kind: z.string(), schema: z.record(z.string(), z.unknown()) })) }),
  errors: [],
});

export const getEvent = operation('getEvent', {
  method: 'GET',
  path: '/v1/events/{event_id}',
  scope: read,
  summary: 'Reads an event as it is sent',
  params: eventPath,
  status: 200,
  answer: AnyEnvelope,
  errors: ['not_found'],
});
