import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { createLogger } from '@customer-platform/service-kit';
import { afterEach, expect, it } from '@jest/globals';
import { SpanReceiver } from './receive-spans.ts';
import { TraceThread } from './trace-thread.ts';

const token = 'trace-token-'.padEnd(32, 'x');
const log = createLogger('test', 'silent');
let server: Server | undefined;
let thread: TraceThread;
afterEach(async () => {
  server?.close();
  await thread.stop();
});

const spansOf = (count: number) =>
  Array.from({ length: count }, (_, index) => ({
    traceId: (index + 1).toString(16).padStart(32, '0'),
    spanId: 'b'.repeat(16),
    startTimeUnixNano: '1',
    endTimeUnixNano: '2',
  }));
const exportOf = (spans: unknown[]) => JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans }] }] });

/** Starts a receiver; returns a function that sends it an export. */
async function start() {
  thread = new TraceThread(log);
  const receiver = new SpanReceiver({ token, thread, log, addressOf: () => '127.0.0.1' });
  server = createServer((request, response) => receiver.serve(request, response));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  return async (body: string | Uint8Array<ArrayBuffer>, more: Record<string, string> = {}) => {
    const url = `http://127.0.0.1:${port}/v1/traces`;
    const response = await fetch(url, { method: 'POST', headers: { ...headers, ...more }, body });
    return { status: response.status, body: (await response.json()) as { error?: { field: string } } };
  };
}

it('says how many spans it rejected of an export that has too many', async () => {
  const send = await start();
  expect(await send(exportOf(spansOf(5_000)))).toMatchObject({
    status: 200,
    body: { partialSuccess: { rejectedSpans: '904', errorMessage: expect.any(String) } },
  });
});

it('refuses what cannot be read with a clear error, and goes on', async () => {
  const send = await start();
  const gzip = { 'content-encoding': 'gzip' };
  const outcomes = [
    await send('no JSON'),
    await send(exportOf([{}])),
    await send(`{"resourceSpans":[{"scopeSpans":[{"spans":[${'{"x":'.repeat(100_000)}1${'}'.repeat(100_000)}]}]}]}`),
    await send(new TextEncoder().encode('not packed'), gzip),
    await send(Uint8Array.from(gzipSync(' '.repeat(5 * 1_048_576))), gzip),
  ];
  expect(outcomes.map(({ status, body }) => [status, body.error!.field])).toEqual([
    ...Array.from({ length: 4 }, () => [400, 'body']),
    [413, 'body'],
  ]);
  expect(await send(exportOf(spansOf(1)))).toEqual({ status: 200, body: {} });
});

it('begins again without any trace where its thread has ended', async () => {
  const send = await start();
  await send(exportOf(spansOf(1)));
  await thread.stop();
  expect(await thread.call('list', { filter: {}, after: undefined, limit: 9 })).toEqual([]);
  await send(exportOf(spansOf(2)));
  expect(await thread.call('list', { filter: {}, after: undefined, limit: 9 })).toHaveLength(2);
});
