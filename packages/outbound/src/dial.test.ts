import { createServer as createHttpsServer } from 'node:https';
import { createServer, type Server, type Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { testCertificate, testCertificateKey } from '@customer-platform/testkit/test-certificate';
import { waitFor } from '@customer-platform/testkit/wait-for';
import { afterEach, expect, it } from '@jest/globals';
import { closeLoopback, listen } from '../test/loopback.ts';
import { createDial } from './guarded-connector.ts';

const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await closeLoopback();
});

const portOf = async (server: Server) => String(await listen(server));

/** Connects to a server with TLS; trusts the test certificate. */
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

/** Reads everything from a socket, one chunk at a time. */
async function readSlowly(socket: Socket): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of socket) {
    parts.push(part as Buffer);
    await setImmediate();
  }
  return Buffer.concat(parts);
}

const certified = { key: testCertificateKey, cert: testCertificate };

it('offers no key exchange whose group the server chooses', async () => {
  const { promise, resolve } = Promise.withResolvers<Buffer>();
  const port = await portOf(createServer((socket) => socket.once('data', resolve)));
  dial(port).catch(() => undefined);
  const hello = await promise;
  // In a ClientHello the cipher suites follow the session id: their length, then two bytes for each.
  const at = 44 + hello[43]!;
  const suites = hello.toString('hex', at + 2, at + 2 + hello.readUInt16BE(at)).match(/.{4}/g);
  expect(suites).toEqual(expect.arrayContaining(['1301', 'c02b', 'c02f']));
  // DHE with RSA: AES-GCM, ChaCha20, AES-CBC, AES-CCM.
  const ephemeral = '009e 009f ccaa 0033 0039 0067 006b c09e c09f c0a2 c0a3';
  expect(suites!.filter((suite) => ephemeral.includes(suite))).toEqual([]);
});

it('closes the connection to a server that sends more than 16 KiB of certificates', async () => {
  const serve = (certificates: number) =>
    createHttpsServer({ ...certified, cert: Array(certificates).fill(testCertificate).join('\n') });
  const socket = await dial(await portOf(serve(20)));
  expect(socket.destroyed).toBe(false);
  await expect(dial(await portOf(serve(45)))).rejects.toThrow('the server sent more bytes than are allowed here');
});

it('passes on all bytes received before the server closed the connection, also to a slow reader', async () => {
  const server = createHttpsServer(certified);
  const { promise: accepted, resolve: accept } = Promise.withResolvers<Socket>();
  server.once('secureConnection', accept);
  const port = await portOf(server);
  const socket = await dial(port);
  const sent = Buffer.alloc(50_000, 'all of it');
  const over = Promise.withResolvers<void>();
  (await accepted).on('close', over.resolve).end(sent);
  await over.promise;
  expect((await readSlowly(socket)).equals(sent)).toBe(true);
});

it('a connection attempt ends when the server closes the connection before it is secure', async () => {
  const port = await portOf(createServer((socket) => void socket.end()));
  await expect(dial(port)).rejects.toMatchObject({ code: 'ECONNRESET' });
});

it('a connection attempt to a silent server ends at its deadline, or when its signal aborts', async () => {
  let connections = 0;
  const port = await portOf(createServer(() => connections++));
  const target = { hostname: '127.0.0.1', servername: 'localhost', protocol: 'https:', port };
  const ended = (bounds: { timeoutMs: number; signal?: AbortSignal }) =>
    new Promise((resolve) => createDial()({ ...target, ...bounds }, (...[error]) => resolve(error)));
  expect(await ended({ timeoutMs: 100 })).toMatchObject({ code: 'ETIMEDOUT' });
  const stop = new AbortController();
  const stopped = ended({ timeoutMs: 600_000, signal: stop.signal });
  await waitFor('both connections', () => connections === 2);
  stop.abort();
  expect(await stopped).toMatchObject({ name: 'AbortError' });
});
