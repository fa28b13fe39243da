import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type Platform as Deployment,
  describeProcess,
  gateway,
  readyFile,
  services,
} from '@customer-platform/deploy/deployables';
import { freePort } from '@customer-platform/deploy/local-port';
import { choosePorts, loadSecrets } from '@customer-platform/deploy/platform-directory';
import { databaseUrl, provision } from '@customer-platform/deploy/provision';
import { busUrl, natsServer } from '@customer-platform/deploy/servers/nats';
import { defaultPrefix } from '@customer-platform/deploy/servers/nats-config';
import { postgresServer } from '@customer-platform/deploy/servers/postgres';
import { redisServer } from '@customer-platform/deploy/servers/redis';
import {
  type ManagedProcess,
  type ServerProcess,
  startServer,
} from '@customer-platform/deploy/supervisor/managed-process';
import { runningRecord } from '@customer-platform/deploy/supervisor/process-record';
import { createSupervisor } from '@customer-platform/deploy/supervisor/supervisor';
import { newDataFolder, programsFolder } from './data-folder.ts';
import { rawRequest } from './platform.ts';
import { waitFor } from './wait-for.ts';

export type ServerName = 'postgres' | 'nats' | 'redis';

/** The platform as started by `npm start`: separate processes, with servers that only this test uses. */
export interface ProcessPlatform {
  gatewayUrl: string;
  adminUrl: string;
  adminToken: string;
  /** Returns the bus URL of a service, with its password. Without a service, returns the server's address only. */
  natsUrl(service?: string): string;
  databaseUrl: string;
  redisUrl: string;
  /** Folders, ports and secrets for starting more processes. */
  deployment: Deployment;
  /** Names of the gateway and each service. */
  processNames: string[];
  /** Kills a process or server with SIGKILL. The supervisor restarts processes; `startServer` restarts servers. */
  kill(name: string): void;
  stopServer(name: ServerName): Promise<void>;
  startServer(name: ServerName): Promise<void>;
  /** Stops the gateway and the services gracefully. The servers keep their data for a later start. */
  stopProcesses(): Promise<void>;
  startProcesses(): Promise<void>;
  /** Returns a server's data folder: PostgreSQL's data or NATS's streams. Stop the server before copying or replacing it. */
  dataOf(name: 'postgres' | 'nats'): string;
  /** Returns the process id of a server, the gateway or a service; undefined while it is not running. */
  pidOf(name: string): number | undefined;
  /** Output lines of the supervisor and the processes. */
  output: string[];
  /** Creates an account with a member ada@example.com and a live key with all scopes. */
  account(settings?: Record<string, unknown>): Promise<{ id: string; key: string }>;
  stop(): Promise<void>;
}

const root = join(import.meta.dirname, '../../..');

/** Settings of all processes, or a function that returns the settings of a process by name. */
export type ProcessEnv = Record<string, string> | ((name: string) => Record<string, string>);

/** Returns the checkout that a process runs from. */
export type RootOf = (name: string) => string;
const here: RootOf = () => root;

/**
 * Starts all processes and servers. `env` is added to the processes' environment, and `rootOf` selects a process's checkout (default: this one). The
 * servers write durably, as in production.
 */
export async function startProcessPlatform(env: ProcessEnv = {}, rootOf: RootOf = here): Promise<ProcessPlatform> {
  const directory = newDataFolder();
  const output: string[] = [];
  const names = services.map(({ name }) => name);
  const ports = await choosePorts(directory, ['postgres', 'nats', 'redis', ...names]);
  const secrets = loadSecrets(directory, [gateway.name, ...names]);
  const servers = await serversIn(directory, ports, secrets);
  const natsUrl = (service?: string) =>
    service === undefined ? servers.nats.url : busUrl(servers.nats.url, service, secrets.bus[service]!);
  const started = new Map<ServerName, { pid: number; stop(): Promise<void> }>();
  // After a kill, the server's child processes hold its shared memory for a moment.
  const start = async (name: ServerName) =>
    void started.set(name, await waitFor(`${name} to start`, () => startServer(servers[name]), 20_000));
  let supervisor = supervisorInto(output);
  const stop = async () => {
    await supervisor.stop();
    for (const server of started.values()) await server.stop();
    rmSync(directory, { recursive: true, force: true });
  };
  const pidOf = (name: string) => started.get(name as ServerName)?.pid ?? recordedPid(directory, name);
  try {
    await Promise.all([start('postgres'), start('nats'), start('redis')]);
    await provision(servers.postgres.url, { database: 'platform', roles: rolesOf(secrets) });
    const [gatewayPort, adminPort] = [await freePort(), await freePort()];
    const platform = {
      root,
      directory,
      databaseUrl: databaseUrl(servers.postgres.url, 'platform'),
      natsUrl,
      redisUrl: servers.redis.url,
      gatewayPort,
      adminPort,
      ports,
      secrets,
    };
    const describe = describer(platform, env, rootOf);
    const startProcesses = async () => {
      supervisor = supervisorInto(output);
      await supervisor.start(services.map(describe));
      await supervisor.start([describe(gateway)]);
    };
    await startProcesses();
    writeFileSync(readyFile(platform), '');
    const adminUrl = `http://127.0.0.1:${adminPort}`;
    return {
      gatewayUrl: `http://127.0.0.1:${gatewayPort}`,
      adminUrl,
      adminToken: secrets.ADMIN_TOKEN,
      natsUrl,
      databaseUrl: platform.databaseUrl,
      redisUrl: platform.redisUrl,
      deployment: platform,
      processNames: [gateway.name, ...names],
      output,
      pidOf,
      kill: (name) => killProcess(pidOf(name)),
      stopServer: async (name) => await started.get(name)!.stop(),
      startServer: start,
      stopProcesses: () => supervisor.stop(),
      startProcesses,
      dataOf: (name) => join(directory, name, name === 'postgres' ? 'data' : 'streams'),
      account: (settings = {}) => makeAccount(adminUrl, secrets.ADMIN_TOKEN, settings),
      stop,
    };
  } catch (error) {
    await stop();
    throw new Error(`the platform did not start: ${output.slice(-20).join('\n')}`, { cause: error });
  }
}

/** Returns a function that describes the process of a deployable. */
function describer(platform: Deployment, env: ProcessEnv, rootOf: RootOf) {
  return (deployable: typeof gateway) =>
    withEnv(describeProcess(deployable, { ...platform, root: rootOf(deployable.name) }), env);
}

/**
 * Returns a process with `env` added to its environment. Its compile cache is kept between platforms and runs, because a killed process never writes
 * its compiled code.
 */
function withEnv(described: ManagedProcess, env: ProcessEnv): ManagedProcess {
  const own = typeof env === 'function' ? env(described.name) : env;
  const NODE_COMPILE_CACHE = join(described.cwd, '.platform', 'compile-cache-of-tests', described.name);
  return { ...described, env: { ...described.env, NODE_COMPILE_CACHE, ...own } };
}

/** Returns PostgreSQL, NATS and Redis, not started, with data in folders of `directory`. */
async function serversIn(directory: string, ports: Record<string, number>, secrets: ReturnType<typeof loadSecrets>) {
  const at = (name: ServerName) => ({
    directory: join(directory, name),
    port: ports[name]!,
    cacheDirectory: programsFolder(),
  });
  return {
    postgres: await postgresServer(at('postgres')),
    nats: await natsServer({ ...at('nats'), users: { prefix: defaultPrefix, passwords: secrets.bus } }),
    redis: await redisServer({ ...at('redis'), password: secrets.REDIS_PASSWORD }),
  } satisfies Record<ServerName, ServerProcess>;
}

function supervisorInto(output: string[]) {
  return createSupervisor({ write: (line) => output.push(line) });
}

/** Returns the database roles of the gateway and the services. */
function rolesOf(secrets: ReturnType<typeof loadSecrets>) {
  return [gateway, ...services].map(({ name }) => ({ name, password: secrets.roles[name]! }));
}

function recordedPid(directory: string, name: string): number | undefined {
  return runningRecord(join(directory, 'run', `${name}.json`))?.pid;
}

function killProcess(pid: number | undefined): void {
  if (pid !== undefined) process.kill(pid, 'SIGKILL');
}

async function makeAccount(adminUrl: string, adminToken: string, settings: Record<string, unknown>) {
  const admin = async (path: string, body: unknown) => {
    const response = await rawRequest(adminUrl, 'POST', path, { body, key: adminToken });
    if (response.status !== 201) throw new Error(`${path} got ${response.status}: ${response.text}`);
    return response.body;
  };
  const rate_limit = { per_minute: 1_000_000, burst: 100_000 };
  const { id } = await admin('/admin/accounts', { name: 'Test', timezone: 'UTC', rate_limit, ...settings });
  await admin(`/admin/accounts/${id}/members`, { name: 'Ada', email: 'ada@example.com' });
  const { key } = await admin(`/admin/accounts/${id}/keys`, { name: 'test', mode: 'live', scopes: ['*'] });
  return { id: id as string, key: key as string };
}
