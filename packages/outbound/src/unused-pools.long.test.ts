import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { queryObjects } from 'node:v8';
import { waitFor } from '@customer-platform/testkit';
import { afterEach, expect, it } from '@jest/globals';
import { parseAddressRanges } from './address-ranges.ts';
import { ConnectionClient } from './kept-connections.ts';
import { createPoster, type Poster } from './post.ts';

const endpoints = 5;
const triesEach = 10;
let server: Server;
let poster: Poster;

afterEach(async () => {
  await poster.close();
  await new Promise((done) => server.close(done));
});

/** Counts those that anything still refers to. */
const clients = () => queryObjects(ConnectionClient, { format: 'count' });

/** Responds when every try is there: each has a connection of its own. */
async function serve(headers: Record<string, string>): Promise<string> {
  const waiting: (() => void)[] = [];
  server = createServer((_, response) => {
    waiting.push(() => response.writeHead(200, headers).end());
    if (waiting.length === endpoints * triesEach) for (const respond of waiting) respond();
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

it.each([
  ['closes each connection', { connection: 'close' }],
  ['says that it keeps each for a second', { 'keep-alive': 'timeout=1' }],
])('nothing is kept of the connections to a server that %s, once they are closed', async (_, headers) => {
  const url = await serve(headers);
  poster = createPoster({
    allowedRanges: parseAddressRanges('127.0.0.0/8'),
    resolve: async () => ['127.0.0.1'],
    timeoutMs: 60_000,
    maxSocketsPerPool: triesEach,
    maxSockets: endpoints * triesEach,
  });
  const before = clients();
  const tries = Array.from({ length: endpoints * triesEach }, (_none, index) =>
    poster.post({ poolKey: `endpoint ${index % endpoints}`, url, headers: {}, body: '{}' }),
  );
  await waitFor('all to be dialled', () => poster.openSockets() === endpoints * triesEach);
  expect(clients()).toBeGreaterThanOrEqual(endpoints * triesEach);
  for (const { status } of await Promise.all(tries)) expect(status).toBe(200);
  await waitFor('their connections to be closed', () => poster.openSockets() === 0);
  await waitFor('their clients to be gone', () => clients() <= before);
});
