import { execFile } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from '@customer-platform/deploy/local-port';
import { natsServer } from '@customer-platform/deploy/servers/nats';
import { postgresServer } from '@customer-platform/deploy/servers/postgres';
import { redisServer } from '@customer-platform/deploy/servers/redis';
import { type ServerProcess, startServer } from '@customer-platform/deploy/supervisor/managed-process';
import { newDataFolder, programsFolder } from '@customer-platform/testkit';
import postgres from 'postgres';
import { pidsOf, type Receiver, startChild, startPlatform, startReceiver, stopLast } from './harness.ts';
import { type Load, requestBytes } from './load.ts';
import { createdMs } from './rounds.ts';
import { customersOf } from './webhooks.ts';

const accounts = 10;
const connections = 32;
/** Contact whose event envelope is about a kilobyte. */
const contact = { name: 'Ada Lovelace', phone: '+4930901820', note: 'x'.repeat(900) };

/** System under test that creates and delivers events: the platform, or what it is compared with. */
export interface Subject {
  name: string;
  receiver: Receiver;
  /** Processes whose CPU time and memory are measured. */
  pids: number[];
  /** Each request causes one event for one endpoint at the receiver. */
  load: Load & { next(): Buffer };
  /** Returns the creation time of an event in epoch milliseconds, given the id of its webhook. */
  madeMs(id: string): number;
}

/** Starts a subject to compare with: `svix`, `floor`, or the platform of another checkout, given its path. */
export function otherSubject(name: string): Promise<Subject> {
  if (name === 'svix') return svixSubject();
  return name === 'floor' ? floorSubject() : platformSubject(resolve(name));
}

/** Starts the platform of a checkout, by default this one. */
export async function platformSubject(root?: string): Promise<Subject> {
  const receiver = await startReceiver();
  const platform = await startPlatform({}, root);
  const requests = (await customersOf(platform, receiver, accounts)).map(({ request }) => request);
  const load = { url: platform.gatewayUrl, connections, next: inTurn(requests), expected: 201 };
  return { name: root ?? 'the platform', receiver, pids: pidsOf(platform), load, madeMs: createdMs };
}

/**
 * Starts Svix's server from the program in SVIX_SERVER, with PostgreSQL configured like the platform's and Redis as its queue.
 * Throws if SVIX_SERVER is not set.
 */
async function svixSubject(): Promise<Subject> {
  const program = process.env.SVIX_SERVER;
  if (!program) throw new Error('SVIX_SERVER must be the path of svix-server, built from its source');
  const receiver = await startReceiver();
  const { directory, at, start } = newServers();
  const database = await start(await postgresServer(await at('postgres')));
  const redis = await start(await redisServer(await at('redis')));
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const env = {
    PATH: process.env.PATH ?? '',
    SVIX_LISTEN_ADDRESS: `127.0.0.1:${port}`,
    SVIX_DB_DSN: database.url,
    SVIX_REDIS_DSN: redis.url,
    SVIX_QUEUE_TYPE: 'redis',
    SVIX_JWT_SECRET: 'the secret of a bench',
    SVIX_WHITELIST_SUBNETS: '["127.0.0.0/8"]',
    SVIX_WHITELABEL_HEADERS: 'true',
  };
  const run = async (...args: string[]) => (await promisify(execFile)(program, args, { cwd: directory, env })).stdout;
  await run('migrate');
  const token = /Bearer\): (\S+)/.exec(await run('jwt', 'generate'))![1]!;
  const svix = await start({
    name: 'svix',
    command: program,
    args: [],
    cwd: directory,
    env,
    stopSignal: 'SIGTERM',
    recordFile: join(directory, 'svix.json'),
    logFile: join(directory, 'svix.log'),
    url,
    ready: async () => (await fetch(`${url}/api/v1/health/`).catch(() => undefined))?.ok ?? false,
  });
  const post = async (path: string, body: unknown) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const response = await fetch(`${url}/api/v1/${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    if (!response.ok) throw new Error(`${path} returned ${response.status}: ${await response.text()}`);
    return (await response.json()) as { id: string };
  };
  const requestOf = async (_: unknown, index: number) => {
    const { id } = await post('app/', { name: `bench ${index}` });
    await post(`app/${id}/endpoint/`, { url: receiver.url });
    const body = JSON.stringify({ eventType: 'contact.created', payload: contact });
    return requestBytes(url, `POST /api/v1/app/${id}/msg/`, { authorization: `Bearer ${token}` }, body);
  };
  const requests = await Promise.all(Array.from({ length: accounts }, requestOf));
  const made = new Map<string, number>();
  const onResponse: Load['onResponse'] = ({ body }) => {
    const { id, timestamp } = JSON.parse(body.toString()) as { id: string; timestamp: string };
    made.set(id, Date.parse(timestamp));
  };
  const load = { url, connections, next: inTurn(requests), expected: 202, onResponse };
  return { name: 'Svix', receiver, pids: [svix.pid, database.pid, redis.pid], load, madeMs: (id) => made.get(id)! };
}

/** Starts the minimal implementation of a contact, with the platform's libraries, servers and number of processes: `children/floor.ts`. */
async function floorSubject(): Promise<Subject> {
  const receiver = await startReceiver();
  const { at, start } = newServers();
  const database = await start(await postgresServer(await at('postgres')));
  const nats = await start(await natsServer(await at('nats')));
  const copiers = ['copy1', 'copy2', 'copy3', 'copy4', 'copy5'];
  const sql = postgres(database.url, { max: 1, onnotice: () => undefined });
  await sql`create table contacts (id uuid primary key, content text)`;
  await sql`create table outbox (id uuid primary key, envelope text)`;
  await sql`create table events (id uuid primary key, envelope text)`;
  await sql`create table deliveries (event_id uuid primary key, status text, tries int)`;
  for (const copier of copiers) await sql`create table ${sql(copier)} (id uuid primary key, name text)`;
  await sql.end();
  const startPart = (role: string) => startChild('floor.ts', role, database.url, nats.url, receiver.url);
  const writer = await startPart('writer');
  const rest = await Promise.all(['sender', ...copiers].map(startPart));
  const proxy = await startChild('bare-proxy.ts', writer.url, 'http');
  const request = requestBytes(proxy.url, 'POST /contacts', {}, JSON.stringify(contact));
  const load = { url: proxy.url, connections, next: () => request, expected: 201 };
  const pids = [proxy, writer, ...rest, database, nats].map(({ pid }) => pid);
  return { name: 'the floor', receiver, pids, load, madeMs: createdMs };
}

/** Creates a folder for servers that are stopped at the end of the bench. */
function newServers() {
  const directory = newDataFolder();
  stopLast(async () => rmSync(directory, { recursive: true, force: true }));
  return {
    directory,
    at: async (name: string) => ({
      directory: join(directory, name),
      port: await freePort(),
      cacheDirectory: programsFolder(),
    }),
    start: async (server: ServerProcess) => {
      const started = await startServer(server);
      stopLast(() => started.stop());
      return started;
    },
  };
}

/** Returns a function that returns the requests in turn, endlessly. */
function inTurn(requests: readonly Buffer[]): () => Buffer {
  let made = 0;
  return () => requests[made++ % requests.length]!;
}
