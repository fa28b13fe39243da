import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  type ProcessPlatform,
  type Receiver,
  startProcessPlatform,
  startReceiver,
  waitFor,
} from '@customer-platform/testkit';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { openCalendar, patientClient } from './setup.ts';

interface Span {
  service: string;
  name: string;
  traceId: string;
  spanId: string;
  parentSpanId: string | undefined;
}

const spans: Span[] = [];
const metrics = new Set<string>();
let collector: Server;
let platform: ProcessPlatform;
let receiver: Receiver;

beforeAll(async () => {
  collector = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      take(request.url!, JSON.parse(Buffer.concat(chunks).toString()));
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    });
  });
  await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve));
  receiver = await startReceiver();
  platform = await startProcessPlatform({
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${(collector.address() as AddressInfo).port}`,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_BSP_SCHEDULE_DELAY: '200',
    OTEL_METRIC_EXPORT_INTERVAL: '1000',
    OTEL_METRIC_EXPORT_TIMEOUT: '900',
  });
}, 120_000);
afterAll(async () => {
  await platform?.stop();
  await receiver?.stop();
  collector.closeAllConnections();
  await new Promise((resolve) => collector.close(resolve));
}, 60_000);

// biome-ignore lint/suspicious/noExplicitAny: OTLP as JSON, read at a few places
function take(path: string, body: any): void {
  for (const resource of body.resourceSpans ?? []) {
    const attributes: { key: string; value: { stringValue?: string } }[] = resource.resource.attributes;
    const service = attributes.find(({ key }) => key === 'service.name')?.value.stringValue ?? '';
    for (const scope of resource.scopeSpans) {
      for (const { name, traceId, spanId, parentSpanId } of scope.spans) {
        spans.push({ service, name, traceId, spanId, parentSpanId: parentSpanId || undefined });
      }
    }
  }
  if (!path.endsWith('/metrics')) return;
  for (const resource of body.resourceMetrics ?? []) {
    for (const scope of resource.scopeMetrics) for (const metric of scope.metrics) metrics.add(metric.name);
  }
}

it('draws one trace from the request to the delivery try', async () => {
  const client = patientClient(platform.gatewayUrl, (await platform.account()).key);
  const { contact, bookingType, startAt } = await openCalendar(client);
  await client.createEndpoint({ body: { url: receiver.url, events: ['appointment.booked'] } });
  const booked = await client.bookAppointment({ body: { contact, booking_type: bookingType, starts_at: startAt(0) } });
  const told = await receiver.next((request) => request.body.includes(booked.id));

  const path = 'POST /v1/calendar/appointments';
  /** Each span with its required parent, in the same trace. */
  const edges: [string, string][] = [
    [`calendar ${path}`, `gateway ${path}`],
    ['calendar sql', `calendar ${path}`],
    ['calendar publish appointment.booked', `calendar ${path}`],
    ['webhooks consume', 'calendar publish appointment.booked'],
    ['webhooks deliver webhook', 'webhooks consume'],
  ];
  const begins = (start: string) => (span: Span) => `${span.service} ${span.name}`.startsWith(start);
  const { traceId } = await waitFor('the span of the booking', () => spans.filter(begins(`gateway ${path}`)).at(-1));
  const ofTrace = (start: string) => spans.filter((span) => span.traceId === traceId && begins(start)(span));
  for (const [child, parent] of edges) {
    await waitFor(`${child} under ${parent}`, () => {
      const parents = new Set(ofTrace(parent).map(({ spanId }) => spanId));
      return ofTrace(child).some(({ parentSpanId }) => parentSpanId !== undefined && parents.has(parentSpanId));
    });
  }
  expect(told.headers.traceparent).toContain(traceId);
});

it('exports the metrics that the operators watch', async () => {
  const watched = [
    'http.server.request.duration',
    'outbox.pending',
    'outbox.oldest_age',
    'consumer.pending',
    'webhooks.deliveries',
    'queue.ready',
    'queue.lag',
    'webhooks.tries',
  ];
  await waitFor(`the metrics ${watched.join(', ')}`, () => watched.every((name) => metrics.has(name)), 15_000).catch(
    (error: unknown) => {
      throw new Error(`seen: ${[...metrics].join(', ')}`, { cause: error });
    },
  );
});
