import { once } from 'node:events';
import { createServer, request as httpRequest, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createLogger } from '@customer-platform/service-kit';
import { afterEach, expect, it } from '@jest/globals';
import { SpanReceiver } from './receive-spans.ts';
import { TimeBudget } from './time-budget.ts';
import { TraceStore } from './trace-store.ts';

const token = 'trace-token-'.padEnd(32, 'x');
let server: Server | undefined;
afterEach(() => void server?.close());

const spansOf = (count: number, filling = '') =>
  Array.from({ length: count }, (_, index) => ({
    traceId: (index + 1).toString(16).padStart(32, '0'),
    spanId: 'b'.repeat(16),
    name: filling,
    startTimeUnixNano: '1',
    endTimeUnixNano: '2',
  }));
const exportOf = (spans: unknown[]) => JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans }] }] });

/** Starts a receiver; returns a function that sends it the head of an export, and one that sends its body then. */
async function start(time: TimeBudget) {
  const store = new TraceStore();
  const log = createLogger('test', 'silent');
  const receiver = new SpanReceiver({ token, store, time, log, addressOf: () => '127.0.0.1' });
  server = createServer((request, response) => receiver.serve(request, response));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  return async () => {
    const sent = httpRequest({ port, host: '127.0.0.1', method: 'POST', path: '/v1/traces', headers });
    const response = once(sent, 'response');
    const arrived = once(server!, 'request');
    sent.flushHeaders();
    await arrived;
    return async (body: string) => {
      sent.end(body);
      const [received] = await response;
      received.setEncoding('utf8');
      let text = '';
      for await (const part of received) text += part;
      return { status: received.statusCode as number, body: JSON.parse(text) };
    };
  };
}

it('takes one of eight exports that were let in together, where the time is spent after the first', async () => {
  const begin = await start(new TimeBudget({ ratio: 0, burstMs: 0.001 }));
  const begun = [];
  for (let index = 0; index < 8; index++) begun.push(await begin());
  const sent = await Promise.all(begun.map((send) => send(exportOf(spansOf(10)))));
  expect(sent.map(({ status }) => status).sort()).toEqual([200, ...Array.from({ length: 7 }, () => 503)]);
});

it('does other work between the parts of an export', async () => {
  let rounds = 0;
  const roundsOfSteps = new Set<number>();
  class ObservedBudget extends TimeBudget {
    override charge(): void {
      roundsOfSteps.add(rounds);
    }
  }
  const send = await (await start(new ObservedBudget({ ratio: 1, burstMs: 1 })))();
  let isDone = false;
  const round = () => {
    rounds++;
    if (!isDone) setImmediate(round);
  };
  round();
  expect(await send(exportOf(spansOf(4_000, 'x'.repeat(800))))).toEqual({ status: 200, body: {} });
  isDone = true;
  expect(roundsOfSteps.size).toBeGreaterThan(100);
});

it('says how many spans it rejected of an export that has too many', async () => {
  const send = await (await start(new TimeBudget({ ratio: 1, burstMs: 60_000 })))();
  expect(await send(exportOf(spansOf(5_000)))).toMatchObject({
    status: 200,
    body: { partialSuccess: { rejectedSpans: '904', errorMessage: expect.any(String) } },
  });
});
