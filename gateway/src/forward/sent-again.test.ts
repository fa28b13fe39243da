import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { createLogger, listen } from '@customer-platform/service-kit';
import { type RawResponse, rawRequest, waitFor } from '@customer-platform/testkit';
import { startStandIn } from '@customer-platform/testkit/stand-in-service';
import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { BodyIntake, hasBody } from '../bodies/body-intake.ts';
import { refuse } from '../http/listener.ts';
import { forwarder, Outage } from './forward.ts';

const warnings: string[] = [];
const log = Object.assign(createLogger('test', 'silent'), {
  warn: (_fields: object, message: string) => void warnings.push(message),
});
let intake: BodyIntake;
const closes: (() => Promise<void> | void)[] = [];

beforeAll(() => {
  intake = new BodyIntake(
    { memoryBytes: 1_048_576, files: 5, directory: '/tmp', windowMs: 600_000, bytesPerSecond: 1 },
    log,
  );
});
afterEach(async () => {
  for (const close of closes.splice(0).reverse()) await close();
});

/** Forwards everything to `target`; returns a function that sends a request through it. */
async function forwardTo(target: string, holdMs = 0, timeoutMs = 30_000) {
  const upstream = forwarder(target, 'calendar', log, { holdMs, timeoutMs });
  const terms = { kind: 'account', owner: 'somebody', limit: 1_048_576, continues: false } as const;
  const front = await listen(
    async (request: IncomingMessage, response: ServerResponse) => {
      try {
        const body = hasBody(request) ? await intake.take(request, response, terms) : undefined;
        upstream.forward(request, response, 'somebody', body);
      } catch (error) {
        refuse(response, error, log);
      }
    },
    0,
    '127.0.0.1',
  );
  closes.push(
    () => front.close(0),
    () => upstream.close(),
  );
  return (method: string, options: { rawBody?: string; headers?: Record<string, string> } = {}) =>
    rawRequest(front.url, method, '/', options);
}

describe('a request on a connection that the service closes', () => {
  /** Starts a service that echoes requests. It closes the connection `left` times instead, either of any or only of reused connections. */
  async function startClosing(kind: 'kept' | 'any') {
    const kept = new WeakSet<object>();
    const service = { url: '', seen: [] as string[], left: 0 };
    const server = createServer(async (request, response) => {
      service.seen.push(`${request.method} ${await text(request)}`);
      if (service.left > 0 && (kind === 'any' || kept.has(request.socket))) {
        service.left--;
        request.socket.resetAndDestroy();
        return;
      }
      kept.add(request.socket);
      response.setHeader('content-type', 'application/json').end(JSON.stringify(service.seen.at(-1)));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    closes.push(
      () => void server.closeAllConnections(),
      () => void server.close(),
    );
    service.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    return service;
  }
  const outcome = ({ status, body }: RawResponse) => [status, status === 200 ? body : body.error.code];
  const keyed = { 'idempotency-key': 'one' };

  it('is sent again, with its body, if it is a GET or has an Idempotency-Key', async () => {
    const service = await startClosing('kept');
    const send = await forwardTo(service.url);
    expect(outcome(await send('PUT'))).toEqual([200, 'PUT ']);
    for (const [method, options, shown] of [
      ['GET', {}, 'GET '],
      ['POST', { rawBody: 'x'.repeat(100_000), headers: keyed }, `POST ${'x'.repeat(100_000)}`],
      ['DELETE', { headers: keyed }, 'DELETE '],
    ] as const) {
      service.seen.length = 0;
      service.left = 1;
      expect(outcome(await send(method, options))).toEqual([200, shown]);
      expect(service.seen).toEqual([shown, shown]);
    }
  });

  it('is 503 otherwise, since the service may have processed it', async () => {
    const service = await startClosing('kept');
    const send = await forwardTo(service.url);
    expect(outcome(await send('GET'))).toEqual([200, 'GET ']);
    service.left = 1;
    expect(outcome(await send('POST', { rawBody: 'x' }))).toEqual([503, 'service_unavailable']);
    expect(service.seen).toEqual(['GET ', 'POST x']);
  });

  it('is 503 after one timeout if the service keeps the connection open and is silent', async () => {
    const service = await startStandIn();
    closes.push(() => service.stop());
    const seen: string[] = [];
    service.respond = ({ url }, response) => {
      seen.push(url);
      if (seen.length === 1) response.end('{}');
    };
    // Long enough for the first response, even on a machine that stalls.
    const send = await forwardTo(service.url, 0, 3_000);
    expect((await send('GET')).status).toBe(200);
    expect(outcome(await send('GET'))).toEqual([503, 'service_unavailable']);
    expect(seen).toEqual(['/', '/']);
  });

  it('holds the memory of its body only while it may have to be sent again', async () => {
    const held: ServerResponse[] = [];
    const service = await startStandIn();
    closes.push(() => service.stop());
    service.respond = (_seen, response) => held.push(response);
    const send = await forwardTo(service.url);
    // The memory limit of an owner allows one body at a time.
    const rawBody = 'x'.repeat(200_000);
    const sent = [];
    for (let count = 1; count <= 3; count++) {
      sent.push(send('POST', { rawBody }));
      await waitFor('the request at the service', () => held.length === count);
    }
    const withKey = send('POST', { rawBody, headers: keyed });
    await waitFor('the fourth request at the service', () => held.length === 4);
    expect(outcome(await send('POST', { rawBody }))).toEqual([429, 'rate_limited']);
    for (const response of held) response.end('{}');
    for (const response of await Promise.all([...sent, withKey])) expect(response.status).toBe(200);
  });

  it('is sent again once, and not at all if the connection was new', async () => {
    const service = await startClosing('any');
    const send = await forwardTo(service.url);
    expect(outcome(await send('GET'))).toEqual([200, 'GET ']);
    service.left = 3;
    expect(outcome(await send('GET'))).toEqual([503, 'service_unavailable']);
    expect([service.seen.length, service.left]).toEqual([3, 1]);
    expect(outcome(await send('GET'))).toEqual([503, 'service_unavailable']);
    expect([service.seen.length, service.left]).toEqual([4, 0]);
  });
});

describe('a service that refuses connections', () => {
  it('gets the waiting requests when it is back, each once and with its body', async () => {
    const before = await startStandIn();
    const send = await forwardTo(before.url, 60_000);
    await before.stop();
    const sent = Array.from({ length: 20 }, (_none, index) =>
      index % 2 ? send('POST', { rawBody: `${index}`.repeat(10_000) }) : send('GET'),
    );
    await waitFor('the first of them to wait', () => warnings.some((text) => text.includes('wait for it')));
    const back = await startStandIn(Number(new URL(before.url).port));
    closes.push(() => back.stop());
    const responses = await Promise.all(sent);
    expect(responses.map(({ status }) => status)).toEqual(Array(20).fill(200));
    expect(responses.map(({ body }) => body.body)).toEqual(
      Array.from({ length: 20 }, (_none, index) => (index % 2 ? `${index}`.repeat(10_000) : '')),
    );
    expect(back.seen.filter(({ method }) => method !== 'HEAD')).toHaveLength(20);
  });

  it('is 503 when the hold time is over', async () => {
    const gone = await startStandIn();
    await gone.stop();
    const send = await forwardTo(gone.url, 20);
    for (let round = 0; round < 2; round++) expect((await send('GET')).status).toBe(503);
  });

  it('is waited for from the first request on: later requests do not extend the time', async () => {
    let tries = 0;
    const refused = async () => {
      tries++;
      throw new Error('refused');
    };
    const outage = new Outage(150, refused, () => undefined);
    expect(await Promise.all([outage.wait(), outage.wait()])).toEqual([false, false]);
    const triedBefore = tries;
    expect(await outage.wait()).toBe(false);
    expect(tries).toBe(triedBefore);
    outage.end();
    const next = outage.wait();
    outage.end();
    expect(await next).toBe(true);
  });
});
