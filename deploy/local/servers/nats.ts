import { mkdirSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { firstLine } from '../local-port.ts';
import { writeSecretFile } from '../platform-directory.ts';
import type { ServerProcess } from '../supervisor/managed-process.ts';
import { authorizationBlock, busPermissions, pings } from './nats-config.ts';
import { containerName, findServer, inContainer } from './server-binary.ts';
import { natsSource, type Way } from './ways.mjs';

/**
 * NATS with JetStream on 127.0.0.1.
 * @param directory holds its streams, configuration, log and process record
 * @param users the services' passwords and the prefix of their subjects; without it the server needs no authorization
 * @param cacheDirectory keeps the downloaded program
 * @throws ServerNotFound that says what to install when no nats-server is available
 */
export async function natsServer(options: {
  directory: string;
  port: number;
  users?: { prefix: string; passwords: Record<string, string> };
  cacheDirectory: string;
  say?(line: string): void;
  ways?: Way[];
}): Promise<ServerProcess> {
  const { port, cacheDirectory, ways } = options;
  const wanted = { ...natsSource, cacheDirectory, say: options.say ?? (() => undefined) };
  const found = await findServer(ways === undefined ? wanted : { ...wanted, ways });
  mkdirSync(join(options.directory, 'streams'), { recursive: true, mode: 0o700 });
  const directory = realpathSync(options.directory);
  const streams = join(directory, 'streams');
  const config = join(directory, 'server.conf');
  writeSecretFile(config, configOf(options.users));
  const server = {
    name: 'nats',
    cwd: directory,
    stopSignal: 'SIGTERM',
    recordFile: join(directory, 'process.json'),
    logFile: join(directory, 'server.log'),
    url: `nats://127.0.0.1:${port}`,
    ready: async () => (await firstLine(port, ''))?.includes('"jetstream":true') ?? false,
  } as const;
  const env = { PATH: process.env.PATH ?? '/usr/bin:/bin' };
  if (!('image' in found)) {
    const args = [
      '--config',
      config,
      '--addr',
      '127.0.0.1',
      '--port',
      String(port),
      '--jetstream',
      '--store_dir',
      streams,
    ];
    return { ...server, command: found.command, args, env: { ...env, ...found.env } };
  }
  const container = containerName('nats', directory);
  const owner = `${process.getuid?.() ?? 0}:${process.getgid?.() ?? 0}`;
  const run = ['run', '--rm', '--name', container, '--publish', `127.0.0.1:${port}:4222`, '--user', owner];
  const args = [
    ...run,
    '--volume',
    `${streams}:/streams`,
    '--volume',
    `${config}:/server.conf:ro`,
    found.image,
    '--config',
    '/server.conf',
    '--port',
    '4222',
    '--jetstream',
    '--store_dir',
    '/streams',
  ];
  return { ...server, args, ...inContainer(container, env) };
}

/** Returns the configuration file. */
function configOf(users: Parameters<typeof authorization>[0] | undefined): string {
  const settings = Object.entries(pings).map(([name, value]) => `${name}: ${JSON.stringify(value)}\n`);
  return settings.join('') + (users === undefined ? '' : authorization(users));
}

/** Returns the users for the configuration file, because every user of the machine can read arguments. */
function authorization({ prefix, passwords }: { prefix: string; passwords: Record<string, string> }): string {
  return authorizationBlock(busPermissions(), prefix, (service) => {
    const password = passwords[service];
    if (!password) throw new Error(`the bus has no password for ${service}`);
    return JSON.stringify(password);
  });
}

/** Returns the URL with a service's credentials. */
export function busUrl(serverUrl: string, service: string, password: string): string {
  return serverUrl.replace('nats://', `nats://${service}:${encodeURIComponent(password)}@`);
}
