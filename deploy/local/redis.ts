import { mkdirSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { firstLine } from './local-port.ts';
import type { ServerProcess } from './managed-process.ts';
import { containerName, findServer, removeContainer, type WantedServer } from './server-binary.ts';

/**
 * Redis on 127.0.0.1, in memory alone: it holds rate limits, which may be lost.
 * @param directory holds its log and process record
 * @param cacheDirectory where a downloaded program is kept
 * @throws Error that says what to install when there is no redis-server to be had
 */
export async function redisServer(options: {
  directory: string;
  port: number;
  cacheDirectory: string;
  say?(line: string): void;
  ways?: NonNullable<WantedServer['ways']>;
}): Promise<ServerProcess> {
  const { port, cacheDirectory, ways } = options;
  const wanted = { program: 'redis-server', image: 'redis:8', cacheDirectory, say: options.say ?? (() => undefined) };
  const found = await findServer(ways === undefined ? wanted : { ...wanted, ways });
  mkdirSync(options.directory, { recursive: true, mode: 0o700 });
  const directory = realpathSync(options.directory);
  const server = {
    name: 'redis',
    cwd: directory,
    stopSignal: 'SIGTERM',
    recordFile: join(directory, 'process.json'),
    logFile: join(directory, 'server.log'),
    url: `redis://127.0.0.1:${port}`,
    ready: async () => (await firstLine(port, 'PING\r\n')) === '+PONG',
  } as const;
  const env = { PATH: process.env.PATH ?? '/usr/bin:/bin' };
  const memoryOnly = ['--save', '', '--appendonly', 'no', '--loglevel', 'warning'];
  if (!('image' in found)) {
    const args = ['--bind', '127.0.0.1', '--port', String(port), '--dir', directory, ...memoryOnly];
    return { ...server, command: found.command, args, env: { ...env, ...found.env } };
  }
  const container = containerName('redis', directory);
  // Protected mode would refuse what comes through the published port, which is bound to 127.0.0.1 on the host.
  const inside = ['--bind', '0.0.0.0', '--protected-mode', 'no', ...memoryOnly];
  const args = [
    'run',
    '--rm',
    '--name',
    container,
    '--publish',
    `127.0.0.1:${port}:6379`,
    found.image,
    'redis-server',
    ...inside,
  ];
  const remove = () => removeContainer(container);
  return {
    ...server,
    command: 'docker',
    args,
    env: { ...env, HOME: process.env.HOME ?? '/' },
    prepare: remove,
    cleanUp: remove,
  };
}
