import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { waitFor } from '@customer-platform/testkit';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createClient, type Reconnect, type StreamedEvent, type StreamOptions } from '../index.ts';

let server: Server;
let connections: { request: IncomingMessage; response: ServerResponse }[];
/** Responses to the connections in order. Further connections get none. */
let script: ((response: ServerResponse) => unknown)[];

beforeEach(async () => {
  connections = [];
  script = [];
  server = createServer((request, response) => {
    if (!request.url!.startsWith('/v1/events/stream')) {
      return response.end(JSON.stringify({ data: [{ sequence: 40 }], has_more: true, next: 'x' }));
    }
    const play = script[connections.length];
    connections.push({ request, response });
    return play?.(response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

const open = (options: StreamOptions = {}) => {
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return createClient({ baseUrl, apiKey: 'cp_test_key', retries: 0 }).events.stream(options);
};
const eventOf = (sequence: number, name = '') => {
  const event = { id: `e${sequence}`, type: 'contact.created', data: { contact: { name } } };
  return `id: ${sequence}\nevent: contact.created\ndata: ${JSON.stringify(event)}\n\n`;
};
const streamOf = (...parts: string[]) => {
  return (response: ServerResponse) => {
    response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
    for (const part of parts) response.write(part);
    return response;
  };
};
const ended =
  (...parts: string[]) =>
  (response: ServerResponse) =>
    streamOf(...parts)(response).end();
const broken = (...parts: string[]) => {
  return (response: ServerResponse) => streamOf(...parts)(response).write(': broken\n', () => response.destroy());
};
const refused =
  (status: number, code: string, headers: Record<string, string> = {}) =>
  (response: ServerResponse) =>
    response.writeHead(status, headers).end(JSON.stringify({ error: { code, message: code } }));
const lastEventIds = () => connections.map(({ request }) => request.headers['last-event-id']);

/** Reads that many events, and ends the stream. */
async function take(stream: AsyncIterable<StreamedEvent>, count: number): Promise<StreamedEvent[]> {
  const taken: StreamedEvent[] = [];
  for await (const event of stream) if (taken.push(event) === count) break;
  return taken;
}

describe('a stream of events', () => {
  it('has each event with its sequence, filtered by kind and after a sequence', async () => {
    script = [streamOf(': welcome\n\n', eventOf(8, 'Ada'), eventOf(9))];
    const events = await take(open({ types: ['contact.*', 'order.declined'], afterSequence: 7 }), 2);
    expect(events).toMatchObject([{ id: 'e8', sequence: 8, data: { contact: { name: 'Ada' } } }, { sequence: 9 }]);
    const [{ request }] = connections as [(typeof connections)[0]];
    expect(request.url).toBe('/v1/events/stream?types=contact.*%2Corder.declined');
    expect(request.headers).toMatchObject({ 'last-event-id': '7', authorization: 'Bearer cp_test_key' });
  });

  it('starts after the latest event, so that a stream that breaks before its first event misses none', async () => {
    script = [broken(), streamOf(eventOf(41))];
    expect(await take(open(), 1)).toMatchObject([{ sequence: 41 }]);
    expect(lastEventIds()).toEqual(['40', '40']);
  });

  it('resumes where it broke or ended, without duplicates', async () => {
    script = [broken(eventOf(1), eventOf(2)), ended(eventOf(2), eventOf(3)), ended('id: 5\n\n'), streamOf(eventOf(6))];
    const events = await take(open({ afterSequence: 0 }), 4);
    expect(events.map(({ sequence }) => sequence)).toEqual([1, 2, 3, 6]);
    expect(lastEventIds()).toEqual(['0', '2', '3', '5']);
  });

  it('resumes after 429, 5xx, a response of another server, and silence', async () => {
    const silent = streamOf(': welcome\n\n');
    const page = (response: ServerResponse) => response.writeHead(502).end('<h1>Bad gateway</h1>');
    const busy = refused(429, 'rate_limited', { 'retry-after': '0' });
    script = [busy, refused(503, 'service_unavailable'), page, silent, streamOf(eventOf(1))];
    const told: Reconnect[] = [];
    const options = { afterSequence: 0, idleTimeoutMs: 3_000, onReconnect: (each: Reconnect) => told.push(each) };
    expect(await take(open(options), 1)).toHaveLength(1);
    const codes = told.map(({ error }) => (error as { code?: string }).code);
    expect(codes).toEqual(['rate_limited', 'service_unavailable', 'unexpected_response', 'timed_out']);
  });

  it('waits as long as retry: and Retry-After ask', async () => {
    script = [ended('retry: 700\n\n'), refused(429, 'rate_limited', { 'retry-after': '1' }), streamOf(eventOf(1))];
    const told: number[] = [];
    await take(open({ afterSequence: 0, onReconnect: ({ afterMs }) => told.push(afterMs) }), 1);
    expect(told[0]).toBeGreaterThanOrEqual(700);
    expect(told[1]).toBeGreaterThanOrEqual(1_000);
  });

  it.each([
    [400, 'invalid_request'],
    [401, 'invalid_key'],
    [403, 'scope_missing'],
    [404, 'not_found'],
  ])('ends with the error where the API refuses it with %s', async (status, code) => {
    script = [broken(eventOf(1)), refused(status, code)];
    const stream = open({ afterSequence: 0 });
    expect((await stream.next()).value).toMatchObject({ sequence: 1 });
    await expect(stream.next()).rejects.toMatchObject({ name: 'PlatformError', status, code });
    expect(await stream.next()).toEqual({ done: true, value: undefined });
  });

  it.each([
    ['a page', (response: ServerResponse) => response.writeHead(200, { 'content-type': 'text/html' }).end('<p>')],
    ['an event without a sequence', streamOf('data: {}\n\n')],
    ['an event that is none', streamOf('id: 1\ndata: [1]\n\n')],
    [
      'an event without an end',
      (response: ServerResponse) => {
        streamOf('id: 1\n')(response);
        for (let index = 0; index < 33; index++) response.write(`data: ${'x'.repeat(65_536)}\n`);
      },
    ],
  ])('ends with an error where the response is %s', async (_name, play) => {
    script = [play];
    await expect(open({ afterSequence: 0 }).next()).rejects.toMatchObject({ code: 'unexpected_response' });
    expect(connections).toHaveLength(1);
  });

  it('closes its connection when the loop over it ends', async () => {
    script = [streamOf(eventOf(1), eventOf(2))];
    await take(open({ afterSequence: 0 }), 1);
    await waitFor('the end of the connection', () => connections[0]!.response.destroyed);
  });

  it('ends with the reason of its signal, while it waits for an event or before a reconnect', async () => {
    const reading = new AbortController();
    script = [streamOf(eventOf(1))];
    const stream = open({ afterSequence: 0, signal: reading.signal });
    await stream.next();
    const next = stream.next();
    reading.abort(new Error('enough'));
    await expect(next).rejects.toThrow('enough');
    await waitFor('the end of the connection', () => connections[0]!.response.destroyed);
    const waiting = new AbortController();
    script.push(refused(429, 'rate_limited', { 'retry-after': '3600' }));
    const onReconnect = () => void setImmediate(() => waiting.abort(new Error('enough')));
    const other = open({ afterSequence: 0, signal: waiting.signal, onReconnect });
    await expect(other.next()).rejects.toThrow('enough');
  });

  it('does not time out while its consumer is slow', async () => {
    script = [streamOf(eventOf(1))];
    const stream = open({ afterSequence: 0, idleTimeoutMs: 2_000 });
    await stream.next();
    const began = performance.now();
    await waitFor('the time of two deadlines', () => performance.now() - began > 4_000);
    connections[0]!.response.write(eventOf(2));
    expect((await stream.next()).value).toMatchObject({ sequence: 2 });
    expect(connections).toHaveLength(1);
  });
});
