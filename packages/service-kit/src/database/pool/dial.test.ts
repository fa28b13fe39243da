import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { freePort } from '@customer-platform/deploy/local-port';
import { type Platform, startPlatform, waitFor } from '@customer-platform/testkit';
import { testCertificate, testCertificateKey } from '@customer-platform/testkit/test-certificate';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { type Database, inTransaction, openDatabase } from '../database.ts';
import { isDatabaseUnavailable } from '../database-errors.ts';

let platform: Platform;
let server: Server;
const sockets: Socket[] = [];
const pools: Database[] = [];

beforeAll(async () => {
  platform = await startPlatform({ services: ['crm'] });
});
afterAll(() => platform?.stop());
beforeEach(async () => {
  server = await startTlsServer();
});
afterEach(async () => {
  await Promise.all(pools.splice(0).map((sql) => sql.end({ timeout: 0 })));
  for (const socket of sockets.splice(0)) socket.destroy();
  server?.close();
});

/** Starts a proxy that puts TLS in front of PostgreSQL. It grants a client's request for TLS if `consents` returns true. */
async function startTlsServer(consents: (client: Socket) => boolean = () => true): Promise<Server> {
  const { port, hostname } = new URL(platform.env('crm').DATABASE_URL!);
  const started = createServer(async (client) => {
    client.on('error', () => undefined);
    const upstream = connect(Number(port), hostname);
    sockets.push(client, upstream);
    upstream.on('error', () => client.destroy()).on('close', () => client.destroy());
    const hasTls = consents(client);
    await once(client, 'data').catch(() => undefined);
    client.write(hasTls ? 'S' : 'N');
    const secure = new TLSSocket(client, { isServer: true, cert: testCertificate, key: testCertificateKey });
    secure.on('error', () => upstream.destroy()).on('close', () => upstream.destroy());
    secure.pipe(upstream).pipe(secure);
  }).listen(0, '127.0.0.1');
  await once(started, 'listening');
  return started;
}

function open(
  mode: string,
  { port = (server.address() as AddressInfo).port, isPooled = false, pool = 1 } = {},
): Database {
  const url = new URL(platform.env('crm').DATABASE_URL!);
  url.port = String(port);
  url.searchParams.set('sslmode', mode);
  const sql = openDatabase(url.href, { pool, service: 'crm', statementMs: 4_000, isPooled });
  pools.push(sql);
  return sql;
}

const errorOf = (work: Promise<unknown>) =>
  work.then(
    () => undefined,
    (error: Error) => error,
  );

it('statements are encrypted, and a closed connection is not counted', async () => {
  const sql = open('require');
  expect(await sql`select ssl from pg_stat_ssl where pid = pg_backend_pid()`).toHaveLength(1);
  expect(sql.pool.open).toBe(1);
  for (const socket of sockets) socket.destroy();
  await waitFor('the connection to close', () => sql.pool.open === 0);
  expect(await sql`select 1 as one`).toEqual([{ one: 1 }]);
  expect(sql.pool.open).toBe(1);
});

it.each([
  ['disable', true],
  ['require', false],
  ['require', true],
])('the pool reconnects at once to a server that was away: sslmode %s, with a pooler: %s', async (mode, isPooled) => {
  const port = await freePort();
  const sql = open(mode, { port, isPooled });
  expect(await errorOf(sql`select 1`)).toMatchObject({ code: 'ECONNREFUSED' });
  const again = createServer((client) => {
    const to =
      mode === 'disable' ? new URL(platform.env('crm').DATABASE_URL!).port : (server.address() as AddressInfo).port;
    const upstream = connect(Number(to), '127.0.0.1');
    sockets.push(client, upstream);
    client.on('error', () => undefined).on('close', () => upstream.destroy());
    upstream.on('error', () => undefined).on('close', () => client.destroy());
    client.pipe(upstream).pipe(client);
  }).listen(port, '127.0.0.1');
  await once(again, 'listening');
  try {
    // A pool slot that is stuck would make this time out.
    expect(await sql`select 1 as one`).toEqual([{ one: 1 }]);
  } finally {
    again.close();
  }
});

it.each(['verify-full', 'verify-ca', 'true'])('an unknown certificate is rejected with sslmode %s', async (mode) => {
  expect(await errorOf(open(mode)`select 1`)).toMatchObject({ code: 'DEPTH_ZERO_SELF_SIGNED_CERT' });
});

it('a server without TLS is rejected, unless sslmode only prefers TLS', async () => {
  const port = Number(new URL(platform.env('crm').DATABASE_URL!).port);
  expect(await errorOf(open('require', { port })`select 1`)).toMatchObject({
    message: expect.stringContaining('has no TLS'),
  });
  expect(await open('prefer', { port })`select 1 as one`).toEqual([{ one: 1 }]);
});

it('a silent server and one that refuses connections are unavailable', async () => {
  const silent = createServer((socket) => void sockets.push(socket)).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const { port } = silent.address() as AddressInfo;
  expect(isDatabaseUnavailable(await errorOf(open('require', { port })`select 1`))).toBe(true);
  for (const socket of sockets) socket.destroy();
  silent.close();
  await once(silent, 'close');
  expect(isDatabaseUnavailable(await errorOf(open('require', { port })`select 1`))).toBe(true);
}, 30_000);

it('a connection that cannot reconnect with TLS leaves the others of its pool intact', async () => {
  let hasTls = true;
  const clients: Socket[] = [];
  const proxy = await startTlsServer((client) => {
    clients.push(client);
    return hasTls;
  });
  try {
    const sql = open('require', { port: (proxy.address() as AddressInfo).port, pool: 2 });
    await sql`select`;
    const broken = errorOf(sql`select pg_sleep(60)`);
    await waitFor('the statement to run', () => sql.pool.use.used === 1);
    const { promise: isOver, resolve: end } = Promise.withResolvers<void>();
    const { promise: hasBegun, resolve: begun } = Promise.withResolvers<void>();
    const other = inTransaction(sql, async (tx) => {
      await tx`select`;
      begun();
      await isOver;
      return await tx`select 1 as one`;
    });
    await hasBegun;
    hasTls = false;
    clients[0]!.resetAndDestroy();
    expect(isDatabaseUnavailable(await broken)).toBe(true);
    expect(await errorOf(sql`select 2`)).toMatchObject({ message: expect.stringContaining('has no TLS') });
    end();
    expect(await other).toEqual([{ one: 1 }]);
  } finally {
    proxy.close();
  }
});
