/**
 * Telemetry starts once in a process.
 * @jest-environment node
 */
import { type Platform, type Receiver, startPlatform, startReceiver } from '@customer-platform/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { delivery, emitContactCreated, register } from '../../test/webhooks.ts';

let platform: Platform;
let collector: Receiver;
let receiver: Receiver;

beforeAll(async () => {
  collector = await startReceiver();
  receiver = await startReceiver();
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url };
  // The SDK reads its settings from the environment of the process.
  Object.assign(process.env, env);
  platform = await startPlatform({ services: ['cdp', 'webhooks'], env });
});
afterAll(async () => {
  await platform.stop();
  delete process.env.OTEL_EXPORTER_OTLP_ENDPOINT;
  await Promise.all([collector.stop(), receiver.stop()]);
});

describe('tracing', () => {
  it('carries one trace from the request to the last attempt', async () => {
    const account = await platform.account();
    const endpoint = await register(account, receiver.url);
    receiver.respond = (_, response) => response.writeHead(500).end();
    await emitContactCreated(account);
    await delivery(account, endpoint.id, (one) => one.tries.length === 1);
    platform.clock.advance(6000);
    await delivery(account, endpoint.id, (one) => one.tries.length === 2);
    const traces = receiver.received.map((request) => String(request.headers.traceparent).split('-'));
    const sql = platform.database('webhooks');
    const [event] = await sql<{ trace: { traceparent: string } }[]>`
      select trace from events where account_id = ${account.id}`;
    const [, traceId] = event!.trace.traceparent.split('-');
    expect(traceId).toMatch(/^[0-9a-f]{32}$/);
    expect(traces.map((trace) => trace[1])).toEqual([traceId, traceId]);
    expect(new Set(traces.map((trace) => trace[2])).size).toBe(2);
  });
});
