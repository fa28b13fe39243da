import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '@customer-platform/deploy/local-port';
import { redisServer } from '@customer-platform/deploy/servers/redis';
import { type ServerProcess, startServer } from '@customer-platform/deploy/supervisor/managed-process';
import { Redis } from 'ioredis';
import { newDataFolder, programsFolder } from './data-folder.ts';
import { waitFor } from './wait-for.ts';

/** Password of a test's Redis servers, unless another is given. */
export const redisPassword = 'test-only';
const slots = 16_384;

/** A Redis server that a test can stop, freeze and kill. */
export interface RedisProcess {
  port: number;
  signal(name: NodeJS.Signals): void;
  /** Stops the server and deletes its folder. */
  stop(): Promise<void>;
  /** Sends a command to this server only. */
  ask(...command: [string, ...(string | number)[]]): Promise<unknown>;
}

/** Starts a Redis server. `adapt` changes its description, given its port. */
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

/** A Redis Cluster of three masters, followed in the list by their replicas. */
export interface RedisCluster {
  servers: RedisProcess[];
  /** Settings for the gateway's connection to the cluster. */
  env: Record<string, string>;
  stop(): Promise<void>;
}

/** Starts the servers and waits until they form a cluster. */
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
  // With full coverage required, one master's failover would stop the whole cluster.
  const coverage = ['--cluster-require-full-coverage', 'no', '--cluster-allow-replica-migration', 'no'];
  // The default port is 10000 above the server's port, in the range of outgoing connections.
  const bus = ['--cluster-port', String(await freePort())];
  return { ...described, args: [...described.args, ...cluster, ...coverage, ...bus] };
}

/** Makes the first three servers masters, each with a replica among the others. */
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
