import type { ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { createLogger } from '@customer-platform/service-kit';
import { waitFor } from '@customer-platform/testkit';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { listenWithEnvelopes } from './listener.ts';

let gateway: Awaited<ReturnType<typeof listenWithEnvelopes>>;
const taken: ServerResponse[] = [];
const sockets: Socket[] = [];
let isHolding = true;
beforeAll(async () => {
  const handle = (_request: unknown, response: ServerResponse) => {
    if (isHolding) taken.push(response);
    else response.end();
  };
  gateway = await listenWithEnvelopes(handle, { port: 0, host: '127.0.0.1', log: createLogger('test', 'silent') });
});
afterAll(() => {
  for (const socket of sockets) socket.destroy();
  gateway.server.close();
});

/** Opens a connection with this many requests, one behind another; returns how many had a response until now, and whether it is cut. */
function pipeline(count: number) {
  const seen = { responses: 0, isCut: false };
  const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1');
  sockets.push(socket);
  socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(count));
  socket.on('data', (data) => {
    seen.responses += data.toString('latin1').split('HTTP/1.1 200').length - 1;
  });
  socket.on('error', () => undefined);
  socket.on('close', () => {
    seen.isCut = true;
  });
  return seen;
}

it('one request behind another is within the bound on however many connections of one address, as behind a balancer', async () => {
  const crowded = Array.from({ length: 15 }, () => pipeline(100));
  await waitFor(
    'their first requests to be taken',
    () => taken.length + crowded.filter(({ isCut }) => isCut).length >= 15,
  );
  // The others of its address have filled what one address may have.
  await waitFor('one to be cut', () => crowded.some(({ isCut }) => isCut));
  const [before, ordinary] = [taken.length, Array.from({ length: 60 }, () => pipeline(2))];
  await waitFor(
    'all to be taken',
    () => taken.length >= before + ordinary.length || ordinary.some(({ isCut }) => isCut),
  );
  expect(ordinary.filter(({ isCut }) => isCut)).toEqual([]);
  isHolding = false;
  for (const response of taken) response.end();
  await waitFor('the responses', () => ordinary.every(({ responses }) => responses === 2));
});
