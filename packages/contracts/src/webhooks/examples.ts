import { salonId } from '../accounts/examples.ts';
import { order } from '../catalogue/examples.ts';
import type { EventExamplesOf, ExamplesOf } from '../core/examples.ts';
import { onePage } from '../core/examples.ts';
import type * as events from './events.ts';
import type * as operations from './operations.ts';
import type { Delivery, Endpoint } from './resources.ts';

const url = 'https://hooks.salon-aurora.example/customer-platform';
const secret = 'whsec_c2Fsb24tYXVyb3JhLWV4YW1wbGUtc2VjcmV0LTAx';

const endpoint: Endpoint = {
  id: '019a9cb0-5d7f-7ea6-8ba2-b3c4d5e6f810',
  url,
  description: 'The till',
  events: ['appointment.*', 'order.created'],
  active: true,
  disabled_reason: null,
  paused: false,
  created_at: '2025-09-14T15:30:00+02:00',
  updated_at: '2025-09-14T15:30:00+02:00',
};

/** The envelope of Lena's order. */
const event = {
  id: '019a9cb2-1e80-7fb7-9cb3-c4d5e6f70920',
  type: 'order.created',
  timestamp: order.created_at,
  account: salonId,
  mode: 'live' as const,
  data: { order: { ...order } },
};

const delivery: Delivery = {
  id: '019a9cb2-3f91-7ac8-8dc4-d5e6f7081a30',
  event: event.type,
  event_id: event.id,
  status: 'delivered',
  reason: null,
  url,
  payload: event,
  response: { status: 204, body: '', duration_ms: 48 },
  tries: [
    {
      number: 1,
      at: '2025-11-17T19:40:06+01:00',
      status: 204,
      error: null,
      duration_ms: 48,
      trigger: 'scheduled',
    },
  ],
  next_try_at: null,
  created_at: '2025-11-17T19:40:05+01:00',
};
const testAt = '2025-11-18T10:00:00+01:00';
const pending: Delivery = {
  ...delivery,
  id: '019a9cb4-50a2-7bd9-9ed5-e6f708192b40',
  event: 'webhook.test',
  event_id: '019a9cb4-4f11-7cea-8fe6-f708192a3b50',
  status: 'pending',
  payload: {
    ...event,
    id: '019a9cb4-4f11-7cea-8fe6-f708192a3b50',
    type: 'webhook.test',
    timestamp: testAt,
    data: { webhook: { ...endpoint } },
  },
  response: null,
  tries: [],
  next_try_at: testAt,
  created_at: testAt,
};
const replay = { id: '019a9cb6-61b3-7dfb-8a07-08192a3b4c60', status: 'running' as const, matched: 12, done: 5 };

export const webhookExamples: ExamplesOf<typeof operations> = {
  createEndpoint: {
    body: { url, description: 'The till', events: ['appointment.*', 'order.created'] },
    response: { ...endpoint, secret },
  },
  listEndpoints: { response: onePage(endpoint) },
  getEndpoint: { response: endpoint },
  updateEndpoint: {
    body: { events: ['appointment.*', 'order.*'] },
    response: { ...endpoint, events: ['appointment.*', 'order.*'] },
  },
  rotateEndpointSecret: {
    body: { overlap_seconds: 3_600 },
    response: { secret: 'whsec_c2Fsb24tYXVyb3JhLWV4YW1wbGUtc2VjcmV0LTAy' },
  },
  testEndpoint: { response: pending },
  listDeliveries: { response: onePage(delivery) },
  getDelivery: { response: delivery },
  redeliver: { response: { ...delivery, status: 'pending', next_try_at: testAt } },
  replayDeliveries: {
    body: { since: '2025-11-17T00:00:00+01:00', until: '2025-11-18T00:00:00+01:00', status: 'failed' },
    response: { id: replay.id, matched: replay.matched },
  },
  getReplay: { response: replay },
  listEvents: { response: onePage({ ...event, sequence: 4_211 }) },
  triggerEvent: {
    body: { type: event.type as 'order.created', data: { order: { number: order.number } } },
    response: { ...event, mode: 'test' },
  },
  listEventKinds: {
    response: {
      data: [
        {
          kind: 'order.created',
          schema: {
            type: 'object',
            properties: { id: { type: 'string', format: 'uuid' }, type: { type: 'string', const: 'order.created' } },
            required: ['id', 'type'],
          },
        },
      ],
    },
  },
  getEvent: { response: { ...event, sequence: 4_211 } },
};

export const webhookEventExamples: EventExamplesOf<typeof events> = {
  webhookTest: { webhook: endpoint },
  webhookDisabled: {
    webhook: { ...endpoint, active: false, disabled_reason: 'The endpoint responded with 410 Gone.' },
    previous: { active: true },
  },
};
