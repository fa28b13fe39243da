import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { connect, type Socket } from 'node:net';
import { createLogger } from '@customer-platform/service-kit';
import { waitFor } from '@customer-platform/testkit';
import { afterEach, expect, it } from '@jest/globals';
import { listenWithEnvelopes } from './listener.ts';
import { UnreadResponses } from './unread-responses.ts';

const mebibyte = 1_048_576;
const file = Buffer.alloc(64 * mebibyte, 'x');

let close: () => void;
const clients: Socket[] = [];
afterEach(() => {
  for (const client of clients.splice(0)) client.destroy();
  close();
});

/** Asks for the file on a connection that reads nothing; returns both ends once most of it waits in this process. */
async function openStuck(server: Server): Promise<{ client: Socket; socket: Socket }> {
  const { port } = server.address() as { port: number };
  const taken = once(server, 'connection') as Promise<[Socket]>;
  const client = connect(port, '127.0.0.1');
  client.on('error', () => undefined);
  clients.push(client.pause());
  client.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  const [socket] = await taken;
  await waitFor('the file', () => socket.writableLength > 32 * mebibyte);
  return { client, socket };
}

/** Reads 2 MiB, and no more than a piece beyond. */
async function readSome(client: Socket): Promise<void> {
  const from = client.bytesRead;
  const { promise, resolve } = Promise.withResolvers<void>();
  const take = () => {
    if (client.bytesRead < from + 2 * mebibyte) return;
    client.off('data', take).pause();
    resolve();
  };
  client.on('data', take).resume();
  await promise;
}

it('a client that reads nothing of its responses is cut off', async () => {
  const responses = { port: 0, host: '127.0.0.1', log: createLogger('gateway', 'silent'), lookEveryMs: 20 };
  const listener = await listenWithEnvelopes((_request, response) => void response.end(file), responses);
  close = () => void listener.close(0);
  const { socket } = await openStuck(listener.server);
  await waitFor('the end', () => socket.destroyed);
});

it('a client that reads a little at each look is not', async () => {
  const responses = new UnreadResponses();
  const server = createServer((_request, response) => response.end(file));
  server.on('connection', (socket) => responses.watch(socket)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  close = () => {
    responses.stop();
    server.close();
  };
  const { client, socket } = await openStuck(server);
  for (let look = 0; look < 8; look++) {
    responses.look();
    await readSome(client);
  }
  expect(socket.destroyed).toBe(false);
  for (let look = 0; look < 5; look++) responses.look();
  expect(socket.destroyed).toBe(true);
});
