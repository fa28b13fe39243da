import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { promisify } from 'node:util';
import { createLogger } from '@customer-platform/service-kit';
import { waitFor } from '@customer-platform/testkit';
import { afterEach, expect, it } from '@jest/globals';
import { docsServer } from './docs.ts';

let server: Server;
let client: Socket;

afterEach(async () => {
  client.destroy();
  await new Promise((resolve) => server.close(resolve));
});

async function start(options: { silentMs?: number; longestMs?: number }): Promise<void> {
  // More than the buffers of a connection take.
  const text = async () => JSON.stringify({ filler: 'x'.repeat(32 * 1_048_576) });
  server = createServer(docsServer({ text }, createLogger('gateway', 'silent'), options));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  client.on('error', () => undefined);
}

const connections = () => promisify(server.getConnections.bind(server))();

it('a client that asks for the document and reads nothing is cut off', async () => {
  await start({ silentMs: 200 });
  await waitFor('the connection', async () => (await connections()) === 1);
  client.pause().write('GET /v1/openapi.json HTTP/1.1\r\nHost: x\r\n\r\n');
  await waitFor('its end', async () => (await connections()) === 0);
});

it('one that reads a little now and then is cut off as well', async () => {
  await start({ longestMs: 1_000 });
  await waitFor('the connection', async () => (await connections()) === 1);
  client.pause().write('GET /v1/openapi.json HTTP/1.1\r\nHost: x\r\n\r\n');
  await waitFor('its end', async () => {
    client.read(1_024);
    return (await connections()) === 0;
  });
});

it('one that reads gets all of it, and the connection is kept', async () => {
  await start({});
  let bytes = 0;
  client.on('data', (chunk) => {
    bytes += chunk.length;
  });
  client.write('GET /v1/openapi.json HTTP/1.1\r\nHost: x\r\n\r\n');
  await waitFor('all', () => bytes > 32 * 1_048_576);
  expect(await connections()).toBe(1);
});
