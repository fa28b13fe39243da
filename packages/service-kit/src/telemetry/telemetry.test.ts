/**
 * Telemetry starts once in a process.
 * @jest-environment node
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { waitFor } from '@customer-platform/testkit';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { startTelemetry } from './telemetry.ts';

const taken = createServer();
const env = { OTEL_METRICS_EXPORTER: 'prometheus', OTEL_EXPORTER_PROMETHEUS_HOST: '127.0.0.1' };

beforeAll(async () => {
  await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
  const { port } = taken.address() as AddressInfo;
  Object.assign(process.env, env, { OTEL_EXPORTER_PROMETHEUS_PORT: String(port) });
});
afterAll(async () => {
  await new Promise((resolve) => taken.close(resolve));
  for (const name of [...Object.keys(env), 'OTEL_EXPORTER_PROMETHEUS_PORT']) delete process.env[name];
});

it('logs that the port for metrics is taken, and does not end the process', async () => {
  const lines: string[] = [];
  const log = pino({}, { write: (line: string) => void lines.push(line) });
  const stop = await startTelemetry(undefined, { service: 'test', version: '1.0.0', log });
  await waitFor('a line of the log', () => lines.some((line) => line.includes('EADDRINUSE')), 5_000);
  await stop();
  expect(lines).toHaveLength(1);
});
