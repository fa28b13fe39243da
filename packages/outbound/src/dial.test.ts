import { createServer as createHttpsServer } from 'node:https';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { WorkMeter } from '@customer-platform/service-kit';
import { testCertificate, testCertificateKey } from '@customer-platform/testkit/test-certificate';
import { waitFor } from '@customer-platform/testkit/wait-for';
import { afterEach, expect, it } from '@jest/globals';
import type { buildConnector } from 'undici';
import { createDial, type DialTarget } from './dial.ts';

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

const price = { freeMs: 20, restRatio: 20 };

/** Dials a server with TLS, as the owner; trusts the test certificate. */
function dial(port: string, owner = 'ada', meter = new WorkMeter(price)) {
  const dialNow = createDial({ timeoutMs: 20_000, certificateAuthority: testCertificate, meter });
  const target: DialTarget = { hostname: '127.0.0.1', servername: 'localhost', protocol: 'https:', port, owner };
  return new Promise<Socket>((resolve, reject) => {
    const callback: buildConnector.Callback = (...[error, socket]) => {
      if (error) return reject(error);
      sockets.push(socket);
      resolve(socket);
    };
    dialNow(target, callback);
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

/** A meter by whose clock a piece takes a millisecond, or a minute while `isDear`; it asks the clock before and after each. */
function meterOf(ofMeter = price) {
  const clock = { isDear: false, pieces: 0 };
  let nowMs = 0;
  const meter = new WorkMeter(ofMeter, () => {
    clock.pieces += 1 / 2;
    nowMs += clock.isDear ? 60_000 : 1;
    return nowMs;
  });
  return { clock, meter };
}

async function expectOnlyDearToWait(port: string, meter: WorkMeter): Promise<void> {
  let isWaiting = true;
  const next = dial(port, 'dear', meter).then(() => {
    isWaiting = false;
  });
  // Cut off by the end of the test.
  next.catch(() => undefined);
  for (let count = 0; count < 5; count++) await dial(port, 'other', meter);
  expect(isWaiting).toBe(true);
}

it('has the owner of a dear handshake wait with its next, and nobody else, from its start on', async () => {
  const silent = await portOf(createServer((socket) => socket.on('error', () => undefined)));
  const port = await portOf(createHttpsServer({ key: testCertificateKey, cert: testCertificate }));
  const { clock, meter } = meterOf();
  clock.isDear = true;
  dial(silent, 'dear', meter).catch(() => undefined);
  // Before the deadline of the dial, which is a piece as well.
  await waitFor('the start', () => clock.pieces === 1, 10_000);
  clock.isDear = false;
  await expectOnlyDearToWait(port, meter);
});

it('takes fewer certificates from servers of an owner one of whose handshakes was dear', async () => {
  const cert = Array(20).fill(testCertificate).join('\n');
  const port = await portOf(createHttpsServer({ key: testCertificateKey, cert }));
  const few = await portOf(createHttpsServer({ key: testCertificateKey, cert: testCertificate }));
  const { clock, meter } = meterOf({ freeMs: 20, restRatio: 0 });
  clock.isDear = true;
  await dial(port, 'dear', meter);
  clock.isDear = false;
  await expect(dial(port, 'dear', meter)).rejects.toThrow('more bytes came');
  await dial(few, 'dear', meter);
  await dial(port, 'other', meter);
});

it('has it wait as well for what is dear once the connection is secure', async () => {
  const server = createHttpsServer({ key: testCertificateKey, cert: testCertificate });
  const { promise: accepted, resolve: accept } = Promise.withResolvers<Socket>();
  server.once('secureConnection', accept);
  const port = await portOf(server);
  const { clock, meter } = meterOf();
  const socket = await dial(port, 'dear', meter);
  clock.isDear = true;
  (await accepted).write('dear');
  await new Promise((done) => socket.once('data', done));
  clock.isDear = false;
  await expectOnlyDearToWait(port, meter);
});

it('refuses a server that sends too much while its owner rests, before TLS has begun', async () => {
  const { promise: hasClosed, resolve: closed } = Promise.withResolvers<void>();
  const server = createServer((socket) => {
    socket.on('error', () => undefined).once('close', closed);
    socket.write(Buffer.alloc(20_000));
  });
  const port = await portOf(server);
  let nowMs = 0;
  const meter = new WorkMeter({ freeMs: 0, restRatio: 1 }, () => nowMs);
  meter.run('ada', () => {
    nowMs += 300;
  });
  const refused = expect(dial(port, 'ada', meter)).rejects.toThrow('more bytes came');
  await hasClosed;
  await refused;
});

it('passes on all that came before the server closed the connection, after the rest of its owner', async () => {
  const server = createHttpsServer({ key: testCertificateKey, cert: testCertificate });
  const { promise: accepted, resolve: accept } = Promise.withResolvers<Socket>();
  server.once('secureConnection', accept);
  const port = await portOf(server);
  let nowMs = 0;
  const meter = new WorkMeter({ freeMs: 0, restRatio: 1 }, () => nowMs);
  const socket = await dial(port, 'ada', meter);
  const parts: Buffer[] = [];
  socket.on('data', (part) => parts.push(part)).on('error', () => undefined);
  const closed = new Promise((done) => socket.once('close', done));
  meter.run('ada', () => {
    nowMs += 300;
  });
  (await accepted).end('all of it');
  await closed;
  expect(Buffer.concat(parts).toString()).toBe('all of it');
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

it('a dial ends whose server closes the connection while its owner rests', async () => {
  const ended = Promise.withResolvers<void>();
  const port = await portOf(
    createServer(
      (socket) =>
        void socket
          .on('error', () => undefined)
          .on('close', ended.resolve)
          .end(),
    ),
  );
  let nowMs = 0;
  const meter = new WorkMeter({ freeMs: 20, restRatio: 5 }, () => nowMs);
  // By a clock that stands still afterwards all that waits runs at once.
  meter.run('ada', () => {
    nowMs += 60;
  });
  await expect(dial(port, 'ada', meter)).rejects.toMatchObject({ code: 'ECONNRESET' });
  await ended.promise;
});
