import { queryObjects } from 'node:v8';
import { waitFor } from '@customer-platform/testkit';
import { afterEach, expect, it } from '@jest/globals';
import { closeLoopback, poster, serve } from '../test/loopback.ts';
import { ConnectionClient } from './kept-connections.ts';

const endpoints = 5;
const requestsEach = 10;

afterEach(closeLoopback);

/** Counts the clients that are still referenced. */
const clients = () => queryObjects(ConnectionClient, { format: 'count' });

it.each([
  ['closes each connection', { connection: 'close' }],
  ['keeps each connection for a second', { 'keep-alive': 'timeout=1' }],
])('closed connections to a server that %s leave nothing in memory', async (_, headers) => {
  const waiting: (() => void)[] = [];
  // Responds when every request has arrived: each has a connection of its own.
  const url = await serve((_request, response) => {
    waiting.push(() => response.writeHead(200, headers).end());
    if (waiting.length === endpoints * requestsEach) for (const respond of waiting) respond();
  });
  const client = poster({ timeoutMs: 60_000, maxSocketsPerPool: requestsEach, maxSockets: endpoints * requestsEach });
  const before = clients();
  const requests = Array.from({ length: endpoints * requestsEach }, (_none, index) =>
    client.post({ poolKey: `endpoint ${index % endpoints}`, url, headers: {}, body: '{}' }),
  );
  await waitFor('all connections', () => client.openSockets() === endpoints * requestsEach);
  expect(clients()).toBeGreaterThanOrEqual(endpoints * requestsEach);
  for (const { status } of await Promise.all(requests)) expect(status).toBe(200);
  await waitFor('their connections to be closed', () => client.openSockets() === 0);
  await waitFor('their clients to be gone', () => clients() <= before);
});
