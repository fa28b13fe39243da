import { rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type Demo, openDemo } from './demo/demo.ts';
import { describeSimulated, simulatedUrl } from './demo/simulated.ts';
import { describeProcess, gateway, isUp, type Platform, readyFile, services } from './deployables.ts';
import { portIsFree } from './local-port.ts';
import * as platformDirectory from './platform-directory.ts';
import { databaseUrl, provision } from './provision.ts';
import { busUrl, natsServer } from './servers/nats.ts';
import { defaultPrefix } from './servers/nats-config.ts';
import { postgresServer } from './servers/postgres.ts';
import { redisServer } from './servers/redis.ts';
import { ServerNotFound } from './servers/server-binary.ts';
import { type Options, readOptions, UsageError, usage } from './start-options.mjs';
import { readableLine } from './supervisor/log-line.ts';
import type { ServerProcess } from './supervisor/managed-process.ts';
import { createSupervisor, type Supervisor } from './supervisor/supervisor.ts';
import { createTerminal } from './supervisor/terminal.ts';
import { waitUntil } from './supervisor/wait-until.ts';
import { welcome } from './welcome.ts';

const database = 'platform';
const names = services.map(({ name }) => name);
const terminal = createTerminal(process.stdout);
const say = terminal.write;

/** Starts the servers, provisions the database, starts services and gateway, opens the demo. Returns the demo account, if any. */
async function bringUp(supervisor: Supervisor, directory: string, options: Options): Promise<Demo | null> {
  await platformDirectory.claimDirectory(directory, options.fresh);
  if (options.fresh) platformDirectory.deleteData(directory);
  await requireFreePorts(options);
  const platform = await startServers(supervisor, directory, options);
  rmSync(readyFile(platform), { force: true });
  if (process.env.DATABASE_URL && options.fresh) say('--fresh does not change the database at DATABASE_URL');
  const processes = services.map((service) => describeProcess(service, platform));
  // Another start may have taken the ports meanwhile. Its gateway must not be mistaken for ours.
  await requireFreePorts(options);
  // In parallel, because each mostly loads its modules. The gateway's group comes last, so the gateway stops first.
  await Promise.all([
    supervisor.start(options.demo ? [...processes, describeSimulated(platform)] : processes),
    supervisor.start([describeProcess(gateway, platform)]),
  ]);
  const { gateway: gatewayUrl, admin } = entrances(options);
  // The command-line tool reads the control plane's URL from this file.
  platformDirectory.writeSecretJson(join(directory, 'addresses.json'), { gateway: gatewayUrl, admin });
  const demo = options.demo
    ? await openDemo(directory, {
        gateway: gatewayUrl,
        admin,
        adminToken: platform.secrets.ADMIN_TOKEN,
        simulated: simulatedUrl(platform),
      })
    : null;
  writeFileSync(readyFile(platform), '');
  if (!(await waitUntil(() => isUp(`${gatewayUrl}/readyz`), 15_000))) {
    throw new Error(`${gatewayUrl}/readyz did not respond 200 within 15 s after all processes had started`);
  }
  return demo;
}

function entrances(options: Options): { gateway: string; admin: string } {
  return { gateway: `http://127.0.0.1:${options.gatewayPort}`, admin: `http://127.0.0.1:${options.adminPort}` };
}

async function requireFreePorts(options: Options): Promise<void> {
  for (const [variable, port] of [
    ['GATEWAY_PORT', options.gatewayPort],
    ['ADMIN_PORT', options.adminPort],
  ] as const) {
    if (!(await portIsFree(port))) throw new Error(`port ${port} is taken: set ${variable} to a free one`);
  }
}

/** Starts the servers whose URLs the environment does not set, and provisions the database. */
async function startServers(supervisor: Supervisor, directory: string, options: Options): Promise<Platform> {
  const ports = await platformDirectory.choosePorts(
    directory,
    ['postgres', 'nats', 'redis', 'simulated', ...names],
    [options.gatewayPort, options.adminPort],
  );
  const roleNames = [gateway.name, ...names];
  const secrets = platformDirectory.loadSecrets(directory, roleNames);
  const place = (name: string) => ({
    directory: join(directory, name),
    port: ports[name] ?? 0,
    cacheDirectory: join(directory, 'debian'),
    say,
  });
  const { DATABASE_URL, NATS_URL, REDIS_URL, BUS_PREFIX } = process.env;
  const [postgres, nats, redis] = await Promise.all([
    DATABASE_URL ? null : postgresServer(place('postgres')),
    NATS_URL
      ? null
      : natsServer({ ...place('nats'), users: { prefix: BUS_PREFIX || defaultPrefix, passwords: secrets.bus } }),
    REDIS_URL ? null : redisServer({ ...place('redis'), password: secrets.REDIS_PASSWORD }).catch(withoutRedis),
  ]);
  await supervisor.start([postgres, nats, redis].filter((server): server is ServerProcess => server !== null));
  const roles = roleNames.map((name) => ({ name, password: secrets.roles[name] ?? '' }));
  await provision(postgres?.url ?? DATABASE_URL ?? '', postgres === null ? { roles } : { roles, database });
  return {
    root: resolve(import.meta.dirname, '../..'),
    directory,
    databaseUrl: postgres === null ? (DATABASE_URL ?? '') : databaseUrl(postgres.url, database),
    natsUrl: (name) => (nats === null ? (NATS_URL ?? '') : busUrl(nats.url, name, secrets.bus[name] ?? '')),
    // Without Redis nothing listens at this URL, and the gateway limits rates by itself.
    redisUrl: redis?.url ?? (REDIS_URL || `redis://127.0.0.1:${ports.redis}`),
    gatewayPort: options.gatewayPort,
    adminPort: options.adminPort,
    ports,
    secrets,
  };
}

/** Continues without Redis when none is found; the gateway then limits rates by itself. Throws any other error. */
function withoutRedis(error: unknown): null {
  if (!(error instanceof ServerNotFound)) throw error;
  say(`No Redis: the gateway limits rates by itself. ${error.message}`);
  return null;
}

/** Handles signals. Ignores a second signal within one second, because npm repeats the Ctrl-C that the terminal already sent. */
function stopOnSignals(stop: (force: boolean) => void): void {
  let firstAt: number | null = null;
  const onSignal = () => {
    const now = performance.now();
    if (firstAt === null) {
      firstAt = now;
      stop(false);
    } else if (now - firstAt > 1_000) {
      stop(true);
    }
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, onSignal);
}

async function main(): Promise<void> {
  const options = readOptions(process.argv.slice(2), process.env);
  if (options === 'help') {
    say(usage());
    return;
  }
  const directory = platformDirectory.openDirectory(resolve(import.meta.dirname, '../../.platform'));
  const colour = process.stdout.isTTY === true && !process.env.NO_COLOR;
  const shown = options.jsonLogs ? (line: string) => line : readableLine;
  const supervisor = createSupervisor({ write: say, shown, colour, progress: terminal.starting });
  let stopping = false;
  const end = async (exitCode: number, force = false) => {
    stopping = true;
    await (force ? supervisor.kill() : supervisor.stop());
    platformDirectory.releaseDirectory(directory);
    process.exit(exitCode);
  };
  stopOnSignals((force) => {
    say(force ? 'Killing the remaining processes.' : '\nStopping. Press Ctrl-C again to kill all processes at once.');
    void end(0, force);
  });
  process.stdout.on('error', () => undefined); // a closed terminal must not prevent the servers from being stopped
  try {
    const demo = await bringUp(supervisor, directory, options);
    say(welcome({ ...entrances(options), directory, demo, env: process.env }));
  } catch (error) {
    if (stopping) return;
    say(`Could not start: ${(error as Error).message}`);
    await end(1);
  }
}

try {
  await main();
} catch (error) {
  say(`Could not start: ${(error as Error).message}`);
  process.exitCode = error instanceof UsageError ? 2 : 1;
}
