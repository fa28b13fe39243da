import type { ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { createClient } from '@customer-platform/client';
import {
  type Deployable,
  type Platform as Deployment,
  describeProcess,
  gateway,
  services,
} from '@customer-platform/deploy/deployables';
import { freePort } from '@customer-platform/deploy/local-port';
import { type ManagedProcess, spawnManaged, stopChild } from '@customer-platform/deploy/supervisor/managed-process';
import type { ProcessPlatform } from '@customer-platform/testkit';
import postgres from 'postgres';
import { type Balancer, type Member, startBalancer } from './balancer.ts';
import { atLeast, atMost, type Bench, exactly, type Figure, percentile, told } from './figures.ts';
import { startPlatform } from './platform.ts';

const rounds = 3;
const leastRequests = 50_000;
const connections = 16;
const requestsPerSecond = 250;
/** More than the balancer takes to notice that a process is not ready. */
const drainDelaySeconds = 1;
const graceMs = 60_000;

/** One process of a deployable that is rolled. */
interface Replica {
  managed: ManagedProcess;
  child: ChildProcess;
  member: Member;
  balancer: Balancer | undefined;
}

export const rollingBench: Bench = {
  name: 'rolling',
  summary: 'requests while every process is replaced: two of each behind a balancer, then one of each service alone',
  async measure() {
    const platform = await startPlatform();
    try {
      await platform.stopProcesses();
      return [...(await rollTwoOfEach(platform)), ...(await restartOneOfEach(platform))];
    } finally {
      await platform.stop();
    }
  },
};

async function rollTwoOfEach(platform: ProcessPlatform): Promise<Figure[]> {
  const replicas: Replica[] = [];
  const balancers: Balancer[] = [];
  try {
    for (const deployable of [...services, gateway]) {
      const processes = await Promise.all(
        [0, 1].map((index) => describeReplica(deployable, platform.deployment, index)),
      );
      const members = processes.map(({ member }) => member);
      const balancer = await startBalancer(portOf(deployable, platform.deployment), members);
      balancers.push(balancer);
      for (const { managed, member } of processes) {
        replicas.push({ managed, member, balancer, child: spawnManaged(managed) });
      }
    }
    for (const { balancer, member } of replicas) await balancer!.ready(member);
    const { load, contacts } = await underLoad(platform, async () => {
      for (let round = 0; round < rounds; round++) for (const replica of replicas) await roll(replica);
    });
    return [
      told('two of each: processes replaced', replicas.length * rounds),
      atLeast('requests meanwhile', load.sent, leastRequests),
      ...figuresOf(load, contacts),
    ];
  } finally {
    await Promise.all(replicas.map(({ child, managed }) => stopChild(child, managed, graceMs)));
    for (const balancer of balancers) await balancer.stop();
  }
}

async function restartOneOfEach(platform: ProcessPlatform): Promise<Figure[]> {
  const { deployment } = platform;
  const alone = [...services, gateway].map((deployable): Replica => {
    const { env, ...described } = describeProcess(deployable, deployment);
    const managed = { ...described, env: { ...env, ...environment, DRAIN_DELAY_SECONDS: '0' } };
    const port = portOf(deployable, deployment);
    return { managed, child: spawnManaged(managed), member: memberAt(port), balancer: undefined };
  });
  try {
    await Promise.all(alone.map(isReady));
    const { load, contacts } = await underLoad(platform, async () => {
      for (let round = 0; round < rounds; round++) {
        for (const replica of alone) if (replica.managed.name !== gateway.name) await roll(replica);
      }
    });
    return [
      told('one of each: services restarted', (alone.length - 1) * rounds),
      told('requests meanwhile', load.sent),
      ...figuresOf(load, contacts),
    ];
  } finally {
    await Promise.all(alone.map(({ child, managed }) => stopChild(child, managed, graceMs)));
  }
}

const environment = { OTEL_SDK_DISABLED: 'true' };

const memberAt = (port: number): Member => ({ port, readyUrl: `http://127.0.0.1:${port}/readyz` });

function portOf({ name }: Deployable, { gatewayPort, ports }: Deployment): number {
  return name === gateway.name ? gatewayPort : ports[name]!;
}

/** Describes one of several processes of a deployable: at ports of its own, while the others' addresses are the balancers'. */
async function describeReplica(deployable: Deployable, deployment: Deployment, index: number) {
  const { name } = deployable;
  // The first gateway is the one whose control plane is asked for accounts.
  const [port, adminPort] = [await freePort(), index === 0 ? deployment.adminPort : await freePort()];
  const isGateway = name === gateway.name;
  const own = isGateway
    ? { ...deployment, gatewayPort: port, adminPort }
    : { ...deployment, ports: { ...deployment.ports, [name]: port } };
  const { env, recordFile, ...described } = describeProcess(deployable, own);
  const drain = { DRAIN_DELAY_SECONDS: String(drainDelaySeconds) };
  const managed: ManagedProcess = {
    ...described,
    name: `${name}-${index}`,
    recordFile: recordFile.replace(/\.json$/, `-${index}.json`),
    env: { ...env, ...environment, ...drain },
  };
  return { managed, member: memberAt(port) };
}

/** Replaces a process: it is told to end, and the next one is started when it has. Throws if it did not end in order. */
async function roll(replica: Replica): Promise<void> {
  const { managed, child } = replica;
  const exited = once(child, 'exit') as Promise<[number | null]>;
  if (!(await stopChild(child, managed, graceMs))) throw new Error(`${managed.name} did not end`);
  const [code] = await exited;
  if (code !== 0) throw new Error(`${managed.name} ended with ${code}`);
  replica.child = spawnManaged(managed);
  if (replica.balancer) await replica.balancer.ready(replica.member);
  else await isReady(replica);
}

async function isReady({ managed }: Replica): Promise<void> {
  while (!(await managed.ready())) await new Promise((resolve) => setTimeout(resolve, 50));
}

/** Sends requests to every service for as long as `work` takes; returns their outcomes, and the contacts that there are after it. */
async function underLoad(platform: ProcessPlatform, work: () => Promise<void>) {
  const { id, key } = await platform.account();
  const { id: contact } = await createClient({ baseUrl: platform.gatewayUrl, apiKey: key }).createContact({
    body: { name: 'Ada' },
  });
  const load = new Load(platform.gatewayUrl, key, contact);
  const working = work();
  await load.runUntil(working);
  const sql = postgres(platform.databaseUrl, { max: 1, onnotice: () => undefined });
  try {
    const [row] = await sql<{ count: number }[]>`
      select count(*)::int as count from cdp.contacts where account_id = ${id} and id <> ${contact}`;
    return { load, contacts: row!.count };
  } finally {
    await sql.end();
  }
}

interface RollingRequest {
  method: string;
  path: string;
  body?: object;
  /** It has an Idempotency-Key. */
  isKeyed?: boolean;
}

/** A steady load of clients that keep connections, do as `Connection: close` says, and repeat nothing. */
class Load {
  sent = 0;
  /** Contacts that a response said were made. */
  made = 0;
  readonly failures: Record<string, number> = {};
  readonly latenciesMs: number[] = [];
  // In turn, so that no connection is idle for long.
  readonly #agent = new Agent({ keepAlive: true, maxSockets: connections, scheduling: 'fifo' });
  readonly #url: URL;
  readonly #authorization: string;
  readonly #mix: RollingRequest[];

  constructor(gatewayUrl: string, key: string, contact: string) {
    this.#url = new URL(gatewayUrl);
    this.#authorization = `Bearer ${key}`;
    const get = (path: string) => ({ method: 'GET', path });
    const newContact = { method: 'POST', path: '/v1/cdp/contacts', body: { name: 'Grace' }, isKeyed: true };
    this.#mix = [
      get('/v1/cdp/contacts'),
      newContact,
      get('/v1/crm/deals'),
      { method: 'POST', path: '/v1/crm/deals', body: { title: 'Tea', contact }, isKeyed: true },
      get('/v1/calendar/booking-types'),
      { ...newContact, isKeyed: false },
      get('/v1/catalogue/products'),
      get('/v1/messages'),
      get('/v1/webhooks'),
      get('/v1/agents'),
    ];
  }

  async runUntil(working: Promise<void>): Promise<void> {
    let isOver = false;
    const over = working.finally(() => {
      isOver = true;
    });
    over.catch(() => undefined); // thrown below
    const pending = new Set<Promise<void>>();
    const began = performance.now();
    while (!isOver) {
      for (const due = ((performance.now() - began) * requestsPerSecond) / 1_000; this.sent < due; ) {
        const sent: Promise<void> = this.#send().finally(() => pending.delete(sent));
        pending.add(sent);
      }
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    await Promise.all(pending);
    this.#agent.destroy();
    await over;
  }

  async #send(): Promise<void> {
    const sending = this.#mix[this.sent++ % this.#mix.length]!;
    const { method, path, isKeyed } = sending;
    const began = performance.now();
    const outcome = await this.#respond(sending).catch((error: NodeJS.ErrnoException) => error.code ?? error.message);
    this.latenciesMs.push(performance.now() - began);
    if (typeof outcome === 'number' && outcome < 300) {
      if (path === '/v1/cdp/contacts' && method === 'POST') this.made++;
    } else {
      const name = `${method} ${path}${isKeyed ? ' with a key' : ''}: ${outcome}`;
      this.failures[name] = (this.failures[name] ?? 0) + 1;
    }
  }

  #respond({ method, path, body, isKeyed }: RollingRequest): Promise<number> {
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    const text = body && JSON.stringify(body);
    const headers: Record<string, string | number> = { authorization: this.#authorization };
    if (text) {
      Object.assign(headers, {
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(text),
      });
    }
    if (isKeyed) headers['idempotency-key'] = randomUUID();
    const { hostname, port } = this.#url;
    const sent = request({ agent: this.#agent, hostname, port, method, path, headers }, (response) => {
      response
        .resume()
        .once('end', () => resolve(response.statusCode!))
        .once('error', reject);
    });
    sent.once('error', reject).end(text);
    return promise;
  }
}

function figuresOf({ sent, failures, latenciesMs, made }: Load, contacts: number): Figure[] {
  const failed = Object.values(failures).reduce((sum, count) => sum + count, 0);
  for (const [name, count] of Object.entries(failures)) console.log(`${count} × ${name}`);
  return [
    atMost(`of ${sent} requests, failed`, failed, 0),
    exactly('contacts made, of those that a response said were made', String(contacts), String(made)),
    told('a request: p99', percentile(latenciesMs, 0.99), 'ms'),
    told('the slowest of them', Math.max(...latenciesMs), 'ms'),
  ];
}
