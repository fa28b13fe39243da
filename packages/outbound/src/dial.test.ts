import { createServer as createHttpsServer } from 'node:https';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { testCertificate, testCertificateKey } from '@customer-platform/testkit/test-certificate';
import { waitFor } from '@customer-platform/testkit/wait-for';
import { afterEach, expect, it } from '@jest/globals';
import { createDial } from './dial.ts';

const servers: Server[] = [];
const sockets: Socket[] = [];
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const server of servers.splice(0)) server.close();
});

async function portOf(server: Server): Promise<string> {
  servers.push(server.listen(0, '127.0.0.1'));
  server.on('connection', (socket: Socket) => sockets.push(socket));
  await new Promise((done) => server.once('listening', done));
  return String((server.address() as AddressInfo).port);
}

/** Dials a server with TLS; trusts the test certificate. */
function dial(port: string) {
  const target = { hostname: '127.0.0.1', servername: 'localhost', protocol: 'https:', port, timeoutMs: 20_000 };
  return new Promise<Socket>((resolve, reject) => {
    createDial(testCertificate)(target, (...[error, socket]) => {
      if (error) return reject(error);
      sockets.push(socket);
      resolve(socket);
    });
  });
}

/** Returns the numbers of the cipher suites in a record that begins with a ClientHello. */
function cipherSuitesOf(hello: Buffer): number[] {
  const sessionId = 43;
  const suites = sessionId + 1 + hello[sessionId]!;
  const count = hello.readUInt16BE(suites) / 2;
  return Array.from({ length: count }, (_, index) => hello.readUInt16BE(suites + 2 + index * 2));
}

it('offers no key exchange whose group the server chooses', async () => {
  const { promise: hello, resolve } = Promise.withResolvers<Buffer>();
  const port = await portOf(createServer((socket) => socket.once('data', resolve).on('error', () => undefined)));
  dial(port).catch(() => undefined);
  const suites = cipherSuitesOf(await hello);
  expect(suites).toEqual(expect.arrayContaining([0x1301, 0xc02b, 0xc02f]));
  // DHE with RSA: AES-GCM, ChaCha20, AES-CBC, AES-CCM.
  const ephemeral = [0x9e, 0x9f, 0xccaa, 0x33, 0x39, 0x67, 0x6b, 0xc09e, 0xc09f, 0xc0a2, 0xc0a3];
  expect(suites.filter((suite) => ephemeral.includes(suite))).toEqual([]);
});

it('gives up a server that sends more than 16 KiB of certificates', async () => {
  const serve = (certificates: number) =>
    createHttpsServer({ key: testCertificateKey, cert: Array(certificates).fill(testCertificate).join('\n') });
  const socket = await dial(await portOf(serve(20)));
  expect(socket.destroyed).toBe(false);
  await expect(dial(await portOf(serve(45)))).rejects.toThrow('more bytes came');
});

it('passes on all that came before the server closed the connection, also to a slow reader', async () => {
  const server = createHttpsServer({ key: testCertificateKey, cert: testCertificate });
  const { promise: accepted, resolve: accept } = Promise.withResolvers<Socket>();
  server.once('secureConnection', accept);
  const port = await portOf(server);
  const socket = await dial(port);
  const sent = Buffer.alloc(50_000, 'all of it');
  const over = Promise.withResolvers<void>();
  (await accepted).on('close', over.resolve).end(sent);
  await over.promise;
  const parts: Buffer[] = [];
  for await (const part of socket) {
    parts.push(part as Buffer);
    await setImmediate();
  }
  expect(Buffer.concat(parts).equals(sent)).toBe(true);
});

it('passes on what comes in both ways, in its order, and the end of it', async () => {
  const echo = createHttpsServer({ key: testCertificateKey, cert: testCertificate });
  echo.on('secureConnection', (socket: Socket) => {
    socket.removeAllListeners('data');
    socket.on('data', (bytes) => socket.write(bytes)).on('end', () => socket.end());
  });
  const socket = await dial(await portOf(echo));
  const sent = Buffer.from(Array.from({ length: 300_000 }, (_, index) => index % 251));
  socket.end(sent);
  const parts: Buffer[] = [];
  for await (const part of socket) parts.push(part as Buffer);
  expect(Buffer.concat(parts).equals(sent)).toBe(true);
});

it('a dial ends whose server closes the connection before it is secure', async () => {
  const port = await portOf(createServer((socket) => void socket.on('error', () => undefined).end()));
  await expect(dial(port)).rejects.toMatchObject({ code: 'ECONNRESET' });
});

it('a dial ends at its deadline whose server says nothing, and with its signal', async () => {
  const port = await portOf(createServer((socket) => socket.on('error', () => undefined)));
  const target = { hostname: '127.0.0.1', servername: 'localhost', protocol: 'https:', port };
  const ended = (bounds: { timeoutMs: number; signal?: AbortSignal }) =>
    new Promise((resolve) => createDial()({ ...target, ...bounds }, (...[error]) => resolve(error)));
  expect(await ended({ timeoutMs: 100 })).toMatchObject({ code: 'ETIMEDOUT' });
  const stop = new AbortController();
  const stopped = ended({ timeoutMs: 600_000, signal: stop.signal });
  await waitFor('both connections', () => sockets.length === 2);
  stop.abort();
  expect(await stopped).toMatchObject({ name: 'AbortError' });
});
