import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '@customer-platform/deploy/local-port';
import { natsServer } from '@customer-platform/deploy/servers/nats';
import { postgresServer } from '@customer-platform/deploy/servers/postgres';
import { redisServer } from '@customer-platform/deploy/servers/redis';
import { type ServerProcess, startServer } from '@customer-platform/deploy/supervisor/managed-process';
import { newDataFolder, programsFolder } from './data-folder.ts';

/** The real servers of a test run. */
export interface Servers {
  databaseUrl: string;
  natsUrl: string;
  redisUrl: string;
  stop(): Promise<void>;
}

/**
 * Starts PostgreSQL, NATS and Redis for one run, with their own data. Uses containers if `TEST_INFRA=containers`, or if embedded servers are
 * unavailable and Docker is running. Otherwise starts them as processes.
 */
export async function startServers(): Promise<Servers> {
  if (process.env.TEST_INFRA === 'containers') return await startContainers();
  try {
    return await startProcesses();
  } catch (error) {
    if (!dockerRuns()) throw error;
    console.warn(`embedded servers are unavailable (${(error as Error).message}); using containers`);
    return await startContainers();
  }
}

async function startProcesses(): Promise<Servers> {
  const directory = newDataFolder();
  const cacheDirectory = programsFolder();
  const say = (line: string) => console.log(line);
  const started: { stop(): Promise<void> }[] = [];
  const stop = async () => {
    for (const server of started.reverse()) await server.stop();
    rmSync(directory, { recursive: true, force: true });
  };
  const start = async (server: ServerProcess) => {
    started.push(await startServer(server));
    return server.url;
  };
  try {
    // A run's data is discarded, and tests of durability start their own servers. Passwords are not secret here, so one hash iteration suffices.
    const settings = { fsync: 'off', full_page_writes: 'off', max_connections: '500', scram_iterations: '1' };
    const databaseUrl = await start(
      await postgresServer({ directory: join(directory, 'postgres'), port: await freePort(), settings }),
    );
    const natsUrl = await start(
      await natsServer({ directory: join(directory, 'nats'), port: await freePort(), cacheDirectory, say }),
    );
    const redisUrl = await start(
      await redisServer({ directory: join(directory, 'redis'), port: await freePort(), cacheDirectory, say }),
    );
    return { databaseUrl, natsUrl, redisUrl, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function startContainers(): Promise<Servers> {
  const { GenericContainer, Wait } = await import('testcontainers');
  const password = crypto.randomUUID();
  const postgres = await new GenericContainer('postgres:18')
    .withEnvironment({ POSTGRES_PASSWORD: password, LANG: 'C.UTF-8' })
    .withCommand(['-c', 'max_connections=500', '-c', 'fsync=off'])
    .withExposedPorts(5432)
    .withWaitStrategy(Wait.forListeningPorts())
    .start();
  const nats = await new GenericContainer('nats:2').withCommand(['--jetstream']).withExposedPorts(4222).start();
  const redis = await new GenericContainer('redis:8').withExposedPorts(6379).start();
  const at = (container: { getHost(): string; getMappedPort(port: number): number }, port: number) =>
    `${container.getHost()}:${container.getMappedPort(port)}`;
  return {
    databaseUrl: `postgres://postgres:${password}@${at(postgres, 5432)}/postgres`,
    natsUrl: `nats://${at(nats, 4222)}`,
    redisUrl: `redis://${at(redis, 6379)}`,
    stop: async () => {
      await Promise.all([postgres.stop(), nats.stop(), redis.stop()]);
    },
  };
}

function dockerRuns(): boolean {
  try {
    execFileSync('docker', ['info'], { stdio: 'ignore', timeout: 5_000 });
    return true;
  } catch {
    return false;
  }
}
