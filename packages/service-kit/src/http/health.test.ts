import { createServer as createHttpServer, type Server } from 'node:http';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { freePort } from '@customer-platform/deploy/local-port';
import { waitFor } from '@customer-platform/testkit';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { type Database, openDatabase } from '../database/database.ts';
import { healthServer, isDatabaseResponsive } from './health.ts';

const database = createServer();
const accepted: Socket[] = [];
let http: Server;
let sql: Database;
let url: string;

const portOf = (server: { address(): AddressInfo | string | null }) => (server.address() as AddressInfo).port;

beforeEach(async () => {
  // Accepts connections and stays silent.
  database.on('connection', (socket) => accepted.push(socket));
  await new Promise<void>((resolve) => database.listen(0, '127.0.0.1', resolve));
  sql = openDatabase(`postgres://nobody@127.0.0.1:${portOf(database)}/nothing`, { pool: 1, service: 'health' });
  const serve = healthServer({ service: 'health', version: '1', isAlive: () => isDatabaseResponsive(sql) }, () => true);
  http = createHttpServer(serve);
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${portOf(http)}/healthz`;
});
afterEach(async () => {
  await sql.end({ timeout: 0 });
  for (const socket of accepted) socket.destroy();
  database.close();
  http.close();
});

it('a stuck database gets one connection attempt a second, however many clients ask for the health', async () => {
  sql`select 1`.catch(() => undefined);
  await waitFor('the pool to connect', () => accepted.length === 1);
  const now = performance.now.bind(performance);
  performance.now = () => now() + 31_000;
  try {
    const statuses = await Promise.all(Array.from({ length: 50 }, async () => (await fetch(url)).status));
    expect(new Set(statuses)).toEqual(new Set([503]));
    // One connection is the pool's own. If the health checks take seconds, a few more follow.
    expect(accepted.length).toBeLessThan(10);
    const before = accepted.length;
    await waitFor('another attempt', async () => (await fetch(url)).status === 503 && accepted.length > before);
  } finally {
    performance.now = now;
  }
});

it('a process behind a pooler is stuck only if pooler and database accept connections', async () => {
  const there = `postgres://nobody@127.0.0.1:${portOf(database)}/nothing`;
  const away = `postgres://nobody@127.0.0.1:${await freePort()}/nothing`;
  const standing = async (poolerUrl: string, directUrl: string) => {
    const pool = openDatabase(poolerUrl, { pool: 1, service: 'health', isPooled: true });
    pool`select 1`.catch(() => undefined);
    const now = performance.now.bind(performance);
    await new Promise((resolve) => setImmediate(resolve));
    performance.now = () => now() + 31_000;
    try {
      return !(await isDatabaseResponsive(pool, directUrl));
    } finally {
      performance.now = now;
      await pool.end({ timeout: 0 });
    }
  };
  expect(await standing(there, there)).toBe(true);
  expect(await standing(there, away)).toBe(false);
  expect(await standing(away, there)).toBe(false);
});
