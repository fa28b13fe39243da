import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { afterEach, expect, it } from '@jest/globals';
import { parseAddressRanges } from './address-ranges.ts';
import { createGetter, type Getter, type GetterOptions } from './get.ts';

const servers: Server[] = [];
const getters: Getter[] = [];

afterEach(async () => {
  await Promise.all(getters.splice(0).map((getter) => getter.close()));
  await Promise.all(servers.splice(0).map((server) => new Promise((done) => server.close(done))));
});

function getter(options: Partial<GetterOptions>): Getter {
  const made = createGetter({
    allowedRanges: parseAddressRanges('127.0.0.0/8'),
    resolve: async () => ['127.0.0.1'],
    userAgent: 'reader/1.0',
    // Longer than a test may take: what ends before has been ended.
    timeoutMs: 600_000,
    maxSocketsPerPool: 4,
    maxSockets: 4,
    ...options,
  });
  getters.push(made);
  return made;
}

async function listen(onConnection: (socket: Socket) => void): Promise<number> {
  const server = createServer(onConnection);
  servers.push(server);
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return (server.address() as AddressInfo).port;
}

const healthy = () =>
  listen((socket) => {
    socket.on('error', () => undefined).once('data', () => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nx'));
  });

it('TLS handshakes of GETs that are over end, and hold no socket', async () => {
  const begun = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<void>();
  let connections = 0;
  let closed = 0;
  const silent = await listen((socket) => {
    if (++connections === 4) begun.resolve();
    socket
      .on('error', () => undefined)
      .on('close', () => {
        if (++closed === 4) ended.resolve();
      })
      .resume();
  });
  const client = getter({});
  const stop = new AbortController();
  const request = { url: `https://127.0.0.1:${silent}/`, signal: stop.signal };
  const hanging = Array.from({ length: 4 }, () => client.get({ ...request, poolKey: 'hangs' }));
  await begun.promise;
  stop.abort();
  for (const result of await Promise.all(hanging)) expect(result).toMatchObject({ error: 'stopped' });
  expect(await client.get({ poolKey: 'other', url: `http://127.0.0.1:${await healthy()}/` })).toMatchObject({
    status: 200,
  });
  await ended.promise;
});

it('names of GETs that are over are resolved no more for them, and hold no socket', async () => {
  const begun = Promise.withResolvers<void>();
  const client = getter({
    maxSockets: 1,
    resolve: () => {
      begun.resolve();
      return new Promise(() => undefined);
    },
  });
  const stop = new AbortController();
  const hanging = client.get({ poolKey: 'hangs', url: 'https://silent.example/', signal: stop.signal });
  await begun.promise;
  stop.abort();
  expect(await hanging).toMatchObject({ error: 'stopped' });
  expect(await client.get({ poolKey: 'other', url: `http://127.0.0.1:${await healthy()}/` })).toMatchObject({
    status: 200,
  });
});
