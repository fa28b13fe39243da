/**
 * The SDK is registered once in a process.
 * @jest-environment node
 */
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { metrics, trace } from '@opentelemetry/api';
import { startSdk } from './sdk.ts';

/** Requests that the collector received. */
const received: Pick<IncomingMessage, 'url' | 'headers'>[] = [];
const collector = createServer((request, response) => {
  received.push({ url: request.url, headers: request.headers });
  request.resume().on('end', () => response.setHeader('content-type', request.headers['content-type']!).end());
});
const variables = (values: Record<string, string>) => Object.assign(process.env, values);

beforeAll(() => new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve)));
afterAll(() => new Promise((resolve) => collector.close(resolve)));
afterEach(() => {
  for (const name of Object.keys(process.env)) if (name.startsWith('OTEL_')) delete process.env[name];
});

it.each([
  [
    'OTEL_EXPORTER_OTLP_PROTOCOL',
    'grpc',
    /^OTEL_EXPORTER_OTLP_PROTOCOL must be http\/protobuf or http\/json, not "grpc"$/,
  ],
  ['OTEL_EXPORTER_OTLP_TRACES_PROTOCOL', 'grpc', /^OTEL_EXPORTER_OTLP_TRACES_PROTOCOL must be .*, not "grpc"$/],
  ['OTEL_TRACES_SAMPLER', 'jaeger_remote', /^OTEL_TRACES_SAMPLER must be always_on, .*, not "jaeger_remote"$/],
  ['OTEL_TRACES_SAMPLER_ARG', '10', /^OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1, not "10"$/],
  ['OTEL_TRACES_SAMPLER_ARG', '0,1', /^OTEL_TRACES_SAMPLER_ARG must be .*, not "0,1"$/],
  ['OTEL_TRACES_EXPORTER', 'zipkin', /^OTEL_TRACES_EXPORTER must be otlp or none, not "zipkin"$/],
  ['OTEL_PROPAGATORS', 'tracecontext,b3', /^OTEL_PROPAGATORS must be tracecontext, .*, not "tracecontext,b3"$/],
  ['OTEL_CONFIG_FILE', '/etc/otel.yaml', /^OTEL_CONFIG_FILE must be empty, not "\/etc\/otel.yaml"$/],
])('refuses %s=%s by its name', async (variable, value, message) => {
  variables({ OTEL_TRACES_SAMPLER: 'traceidratio', [variable]: value });
  await expect(startSdk({ attributes: {}, traces: true, metrics: [] })).rejects.toThrow(message);
});

it('refuses an unknown exporter of metrics', async () => {
  await expect(startSdk({ attributes: {}, traces: false, metrics: ['zipkin'] })).rejects.toThrow(
    /^OTEL_METRICS_EXPORTER must be otlp, prometheus or none, not "zipkin"$/,
  );
});

it('sends remaining traces and metrics when it stops, by the standard variables', async () => {
  const { port } = collector.address() as AddressInfo;
  variables({
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
    OTEL_EXPORTER_OTLP_METRICS_PROTOCOL: 'http/json',
    OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20t',
    OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
    OTEL_TRACES_SAMPLER_ARG: '1',
  });
  const stop = await startSdk({ attributes: { 'service.name': 'test' }, traces: true, metrics: ['otlp'] });
  trace.getTracer('test').startSpan('one').end();
  metrics.getMeter('test').createCounter('one').add(1);
  await stop();
  expect(received.map(({ url, headers }) => [url, headers['content-type'], headers.authorization]).sort()).toEqual([
    ['/v1/metrics', 'application/json', 'Bearer t'],
    ['/v1/traces', 'application/x-protobuf', 'Bearer t'],
  ]);
});
