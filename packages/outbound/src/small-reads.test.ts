import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { parseAddressRanges } from './address-ranges.ts';
import { createGetter } from './get.ts';
import { createPoster } from './post.ts';

const guard = { allowedRanges: parseAddressRanges('127.0.0.0/8'), resolve: async () => ['127.0.0.1'] };
const bounds = { maxSocketsPerPool: 1, maxSockets: 10 };
const sockets: Socket[] = [];
let server: Server;
let client: { close(): Promise<void> };
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  server.close();
  await client.close();
});

/** Serves raw connections; returns the URL. */
async function serve(take: (socket: Socket) => void): Promise<string> {
  server = createServer((socket) => {
    sockets.push(socket.on('error', () => undefined));
    take(socket);
  }).listen(0, '127.0.0.1');
  await new Promise((done) => server.once('listening', done));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

const chunked = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n';

/** Responds with the beginning of a chunk whose extension has no end. */
const endlessly = (socket: Socket) => {
  socket.once('data', () => {
    socket.write(`${chunked}1;`);
    const part = Buffer.alloc(65_536, 'x');
    const more = () => {
      while (!socket.destroyed && socket.write(part));
    };
    socket.on('drain', more);
    more();
  });
};

const post = (url: string) => {
  const poster = createPoster({ ...guard, ...bounds, timeoutMs: 20_000 });
  client = poster;
  return () => poster.post({ poolKey: 'endpoint', url, headers: {}, body: '{}' });
};
const get = (url: string) => {
  const getter = createGetter({ ...guard, ...bounds, userAgent: 'test', timeoutMs: 20_000, maxBodyBytes: 65_536 });
  client = getter;
  return () => getter.get({ poolKey: 'source', url });
};

describe.each([
  ['POST', post],
  ['GET', get],
] as const)('the response of a %s', (_, clientFor) => {
  it('that has no end beside its body is given up long before the deadline', async () => {
    const send = clientFor(await serve(endlessly));
    expect(await send()).toMatchObject({ error: 'http' });
  });

  it('may have its own bytes, however many came on the same connection before', async () => {
    let connections = 0;
    const extension = 'x'.repeat(500_000);
    const url = await serve((socket) => {
      connections++;
      socket.on('data', (bytes) => {
        if (/^(GET|POST)/.test(bytes.toString('latin1'))) socket.write(`${chunked}2;${extension}\r\nok\r\n0\r\n\r\n`);
      });
    });
    const send = clientFor(url);
    for (let request = 0; request < 5; request++) {
      const { error, body } = (await send()) as { error?: string; body: Buffer | string };
      expect([error, String(body)]).toEqual([undefined, 'ok']);
    }
    expect(connections).toBe(1);
  });
});
