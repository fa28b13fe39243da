import { once } from 'node:events';
import { Agent, get, type IncomingMessage, type ServerResponse } from 'node:http';
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

it('a request that comes before the response to the one before is not served: the connection closes after that response', async () => {
  const [two, some] = [pipeline(2), pipeline(17)];
  await waitFor('the first of each to be taken', () => taken.length >= 2);
  for (const response of taken) response.end();
  await waitFor('both to be closed', () => two.isCut && some.isCut);
  expect([taken.length, two.responses, some.responses]).toEqual([2, 1, 1]);
});

it('requests of a client that waits for each response are served on one connection', async () => {
  isHolding = false;
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const ports = new Set<number>();
  for (let count = 0; count < 3; count++) {
    const request = get(gateway.url, { agent });
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    ports.add(request.socket!.localPort!);
    response.resume();
    await once(response, 'end');
  }
  agent.destroy();
  expect(ports.size).toBe(1);
});
