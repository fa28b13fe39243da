import { mkdirSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { firstLine } from '../local-port.ts';
import { writeSecretFile } from '../platform-directory.ts';
import type { ServerProcess } from '../supervisor/managed-process.ts';
import { containerName, findServer, inContainer } from './server-binary.ts';
import { redisSource, type Way } from './ways.mjs';

/**
 * Redis on 127.0.0.1, in memory only, because it holds only rate limits, which may be lost.
 * @param directory holds its configuration, log and process record
 * @param password in base64url characters; without it every user of this machine may use the server
 * @param cacheDirectory keeps the downloaded program
 * @throws ServerNotFound that says what to install when no redis-server is available
 */
export async function redisServer(options: {
  directory: string;
  port: number;
  password?: string;
  cacheDirectory: string;
  say?(line: string): void;
  ways?: Way[];
}): Promise<ServerProcess> {
  const { port, password, cacheDirectory, ways } = options;
  const wanted = { ...redisSource, cacheDirectory, say: options.say ?? (() => undefined) };
  const found = await findServer(ways === undefined ? wanted : { ...wanted, ways });
  mkdirSync(options.directory, { recursive: true, mode: 0o700 });
  const directory = realpathSync(options.directory);
  // In a file, because every user of the machine can read arguments.
  const config = join(directory, 'server.conf');
  writeSecretFile(config, password === undefined ? '' : `requirepass ${password}\n`);
  const server = {
    name: 'redis',
    cwd: directory,
    stopSignal: 'SIGTERM',
    recordFile: join(directory, 'process.json'),
    logFile: join(directory, 'server.log'),
    url: password === undefined ? `redis://127.0.0.1:${port}` : `redis://:${password}@127.0.0.1:${port}`,
    ready: async () =>
      password === undefined
        ? (await firstLine(port, 'PING\r\n')) === '+PONG'
        : (await firstLine(port, `AUTH ${password}\r\n`)) === '+OK',
  } as const;
  const env = { PATH: process.env.PATH ?? '/usr/bin:/bin' };
  const memoryOnly = ['--save', '', '--appendonly', 'no', '--loglevel', 'warning'];
  if (!('image' in found)) {
    const args = [config, '--bind', '127.0.0.1', '--port', String(port), '--dir', directory, ...memoryOnly];
    return { ...server, command: found.command, args, env: { ...env, ...found.env } };
  }
  const container = containerName('redis', directory);
  // Protected mode would refuse connections through the published port, which is bound to 127.0.0.1 on the host.
  const inside = ['--bind', '0.0.0.0', '--protected-mode', 'no', ...memoryOnly];
  const owner = `${process.getuid?.() ?? 0}:${process.getgid?.() ?? 0}`;
  const run = ['run', '--rm', '--name', container, '--publish', `127.0.0.1:${port}:6379`, '--user', owner];
  const mount = ['--volume', `${config}:/server.conf:ro`];
  const args = [...run, ...mount, found.image, 'redis-server', '/server.conf', ...inside];
  return { ...server, args, ...inContainer(container, env) };
}
