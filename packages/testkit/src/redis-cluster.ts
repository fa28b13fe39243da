import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '@customer-platform/deploy/local-port';
import { redisServer } from '@customer-platform/deploy/servers/redis';
import { type ServerProcess, startServer } from '@customer-platform/deploy/supervisor/managed-process';
import { Redis } from 'ioredis';
import { newDataFolder, programsFolder } from './data-folder.ts';
import { waitFor } from './wait-for.ts';

/** Password of every Redis of a test, unless given. */
export const redisPassword = 'test-only';
const slots = 16_384;

/** A Redis that a test may stop, freeze and kill. */
export interface RedisProcess {
  port: number;
  signal(name: NodeJS.Signals): void;
  /** Stops it and deletes its folder. */
  stop(): Promise<void>;
  /** Sends a command to this server alone. */
  ask(...command: [string, ...(string | number)[]]): Promise<unknown>;
}

/** Starts a Redis; `adapt` makes another of it, given its port. */
export async function startRedis(
  adapt: (described: ServerProcess, port: number) => Promise<ServerProcess> | ServerProcess,
  password = redisPassword,
): Promise<RedisProcess> {
  const directory = newDataFolder();
  const port = await freePort();
  const described = await redisServer({
    directory: join(directory, String(port)),
    port,
    password,
    cacheDirectory: programsFolder(),
    ways: ['path', 'debian'],
  });
  const running = await startServer(await adapt(described, port));
  const connection = new Redis(described.url, { maxRetriesPerRequest: 1, disconnectTimeout: 100 });
  connection.on('error', () => undefined);
  return {
    port,
    signal: (name) => void process.kill(running.pid, name),
    async stop() {
      connection.disconnect();
      await running.stop();
      rmSync(directory, { recursive: true, force: true });
    },
    ask: (...[name, ...parts]) => connection.call(name, parts),
  };
}

/** A Redis Cluster of three masters and their replicas, which follow them in the list. */
export interface RedisCluster {
  servers: RedisProcess[];
  /** Settings by which the gateway finds it. */
  env: Record<string, string>;
  stop(): Promise<void>;
}

/** Starts the servers, and waits until they are one cluster. */
export async function startRedisCluster(): Promise<RedisCluster> {
  const servers = await Promise.all(Array.from({ length: 6 }, () => startRedis(asNode)));
  await joinCluster(servers);
  const urls = servers.slice(0, 3).map(({ port }, index) => {
    const user = index === 0 ? `:${redisPassword}@` : '';
    return `redis://${user}127.0.0.1:${port}`;
  });
  return {
    servers,
    env: { REDIS_MODE: 'cluster', REDIS_URL: urls.join(',') },
    stop: async () => void (await Promise.all(servers.map((server) => server.stop()))),
  };
}

async function asNode(described: ServerProcess): Promise<ServerProcess> {
  const cluster = ['--cluster-enabled', 'yes', '--cluster-node-timeout', '1000', '--masterauth', redisPassword];
  // Without it one master's failover stops all of the cluster.
  const coverage = ['--cluster-require-full-coverage', 'no', '--cluster-allow-replica-migration', 'no'];
  // By default the port is 10000 above the other, where outgoing connections have theirs.
  const bus = ['--cluster-port', String(await freePort())];
  return { ...described, args: [...described.args, ...cluster, ...coverage, ...bus] };
}

/** Makes three masters of the first servers, each with a replica among the others. */
async function joinCluster(servers: readonly RedisProcess[]): Promise<void> {
  const busPorts = await Promise.all(
    servers.map(async ({ ask }) => ((await ask('CONFIG', 'GET', 'cluster-port')) as string[])[1]!),
  );
  for (const [index, { port }] of servers.entries())
    await servers[0]!.ask('CLUSTER', 'MEET', '127.0.0.1', port, busPorts[index]!);
  for (const [index, server] of servers.entries()) {
    if (index < 3) {
      const from = Math.ceil((index * slots) / 3);
      const to = Math.ceil(((index + 1) * slots) / 3) - 1;
      await server.ask('CLUSTER', 'ADDSLOTSRANGE', from, to);
      continue;
    }
    const master = String(await servers[index - 3]!.ask('CLUSTER', 'MYID'));
    await waitFor('a replica to know its master', () => server.ask('CLUSTER', 'REPLICATE', master));
  }
  await waitFor('the cluster', async () => {
    const infos = await Promise.all(servers.map(async ({ ask }) => String(await ask('CLUSTER', 'INFO'))));
    const roles = await Promise.all(servers.slice(0, 3).map(async ({ ask }) => String(await ask('ROLE'))));
    return infos.every(isWhole) && roles.every((role) => role.includes('127.0.0.1'));
  });
}

const isWhole = (info: string) =>
  info.includes('cluster_state:ok') &&
  info.includes(`cluster_slots_ok:${slots}`) &&
  info.includes('cluster_known_nodes:6') &&
  info.includes('cluster_size:3');
