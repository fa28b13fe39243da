import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, it } from '@jest/globals';
import { closedLoop, openLoop, requestBytes } from './load.ts';

let server: Server | undefined;
afterEach(async () => {
  server?.closeAllConnections();
  await new Promise((resolve) => server?.close(resolve));
});

async function serve(handler: RequestListener): Promise<string> {
  server = createServer(handler);
  await new Promise<void>((resolve) => server!.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function counted(count: number, make: () => Buffer): () => Buffer | undefined {
  let left = count;
  return () => (left-- > 0 ? make() : undefined);
}

it('reads responses with a length, in chunks and without a body', async () => {
  const url = await serve((request, response) => {
    if (request.url === '/length') response.setHeader('content-length', 5).end('hello');
    else if (request.url === '/chunks') {
      response.write('hel');
      response.end('lo');
    } else response.writeHead(204).end();
  });
  const paths = ['/length', '/chunks', '/none'];
  const read: [number, string][] = [];
  const result = await closedLoop({
    url,
    connections: 1,
    next: () => {
      const path = paths.shift();
      return path === undefined ? undefined : requestBytes(url, `GET ${path}`, {});
    },
    onResponse: ({ status, body }) => read.push([status, body.toString()]),
  });
  expect(read).toEqual([
    [200, 'hello'],
    [200, 'hello'],
    [204, ''],
  ]);
  expect(result.responses).toBe(3);
});

it('sends a complete body, and counts responses by status', async () => {
  const url = await serve((request, response) => {
    let length = 0;
    request.on('data', (chunk: Buffer) => {
      length += chunk.length;
    });
    request.on('end', () => response.writeHead(length === 100_000 ? 201 : 400).end());
  });
  const next = counted(50, () => requestBytes(url, 'POST /', {}, 'x'.repeat(100_000)));
  const result = await closedLoop({ url, connections: 8, next });
  expect(result.statuses).toEqual({ 201: 50 });
  expect(result.latenciesMs).toHaveLength(50);
});

it('counts the time that a request waits for a free connection', async () => {
  const url = await serve((_request, response) => void setTimeout(() => response.end(), 30));
  const next = counted(5, () => requestBytes(url, 'GET /', {}));
  // All five are due within the first milliseconds, and one connection sends them one after the other.
  const result = await openLoop({ url, connections: 1, next }, 5_000, 20);
  expect(result.responses).toBe(5);
  expect(Math.max(...result.latenciesMs)).toBeGreaterThan(100);
});

it('fails if a connection is closed before its response', async () => {
  const url = await serve((request) => request.socket.destroy());
  const next = counted(1, () => requestBytes(url, 'GET /', {}));
  await expect(closedLoop({ url, connections: 1, next })).rejects.toThrow();
});
