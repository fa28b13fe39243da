import { queryObjects } from 'node:v8';
import { waitFor } from '@customer-platform/testkit';
import { afterEach, expect, it } from '@jest/globals';
import { closeLoopback, poster, serve } from '../test/loopback.ts';
import { ConnectionClient } from './kept-connections.ts';

const endpoints = 5;
const triesEach = 10;

afterEach(closeLoopback);

/** Counts those that anything still refers to. */
const clients = () => queryObjects(ConnectionClient, { format: 'count' });

it.each([
  ['closes each connection', { connection: 'close' }],
  ['says that it keeps each for a second', { 'keep-alive': 'timeout=1' }],
])('nothing is kept of the connections to a server that %s, once they are closed', async (_, headers) => {
  const waiting: (() => void)[] = [];
  // Responds when every try is there: each has a connection of its own.
  const url = await serve((_request, response) => {
    waiting.push(() => response.writeHead(200, headers).end());
    if (waiting.length === endpoints * triesEach) for (const respond of waiting) respond();
  });
  const client = poster({ timeoutMs: 60_000, maxSocketsPerPool: triesEach, maxSockets: endpoints * triesEach });
  const before = clients();
  const tries = Array.from({ length: endpoints * triesEach }, (_none, index) =>
    client.post({ poolKey: `endpoint ${index % endpoints}`, url, headers: {}, body: '{}' }),
  );
  await waitFor('all to be dialled', () => client.openSockets() === endpoints * triesEach);
  expect(clients()).toBeGreaterThanOrEqual(endpoints * triesEach);
  for (const { status } of await Promise.all(tries)) expect(status).toBe(200);
  await waitFor('their connections to be closed', () => client.openSockets() === 0);
  await waitFor('their clients to be gone', () => clients() <= before);
});
