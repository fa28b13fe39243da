import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { freePort } from '@customer-platform/deploy/local-port';
import { postgresServer } from '@customer-platform/deploy/servers/postgres';
import { redisServer } from '@customer-platform/deploy/servers/redis';
import { startServer } from '@customer-platform/deploy/supervisor/managed-process';
import { programsFolder } from '@customer-platform/testkit';
import { requestBytes } from '../load.ts';
import { listens, type Peer } from './peer.ts';

/** A sender of webhooks: each response to `request` has the id in it that the webhook carries. */
export interface Sender extends Peer {
  request: Buffer;
}

/**
 * Starts Svix's server (`svix-server` on PATH) with a PostgreSQL and a Redis of its own, and an application whose one endpoint is
 * `receiverUrl`. Throws where it is not on this machine.
 */
export async function startSvix(receiverUrl: string, directory: string): Promise<Sender> {
  const command = execFileSync('sh', ['-c', 'command -v svix-server || echo'], { encoding: 'utf8' }).trim();
  if (command === '') throw new Error('svix-server is not on PATH');
  const started: { pid: number; stop(): Promise<void> }[] = [];
  const stop = async () => {
    for (const server of started.splice(0).reverse()) await server.stop();
  };
  try {
    const at = async (name: string) => ({ directory: join(directory, name), port: await freePort() });
    const postgres = await postgresServer(await at('svix-postgres'));
    const say = (line: string) => console.log(line);
    const redis = await redisServer({ ...(await at('svix-redis')), cacheDirectory: programsFolder(), say });
    started.push(await startServer(postgres), await startServer(redis));
    const port = await freePort();
    const env = {
      PATH: process.env.PATH ?? '/usr/bin:/bin',
      SVIX_JWT_SECRET: randomBytes(32).toString('hex'),
      SVIX_DB_DSN: postgres.url,
      SVIX_REDIS_DSN: redis.url,
      SVIX_LISTEN_ADDRESS: `127.0.0.1:${port}`,
      SVIX_WHITELIST_SUBNETS: '[127.0.0.1/32]',
      SVIX_WHITELABEL_HEADERS: 'true',
    };
    const url = `http://127.0.0.1:${port}`;
    const server = {
      name: 'svix',
      command,
      args: ['--run-migrations'],
      env,
      cwd: directory,
      stopSignal: 'SIGTERM' as const,
      recordFile: join(directory, 'svix.json'),
      logFile: join(directory, 'svix.log'),
      url,
      ready: () => listens(`${url}/api/v1/health/`),
    };
    started.push(await startServer(server));
    const token = execFileSync(command, ['jwt', 'generate'], { env, encoding: 'utf8' }).trim().split(' ').at(-1)!;
    const call = async (path: string, body: object): Promise<{ id: string }> => {
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
      const response = await fetch(`${url}/api/v1${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
      if (!response.ok) throw new Error(`Svix: POST ${path} got ${response.status}: ${await response.text()}`);
      return (await response.json()) as { id: string };
    };
    const { id } = await call('/app/', { name: 'Bench' });
    await call(`/app/${id}/endpoint/`, { url: receiverUrl, version: 1 });
    const message = JSON.stringify({ eventType: 'contact.created', payload: { note: 'x'.repeat(900) } });
    const request = requestBytes(url, `POST /api/v1/app/${id}/msg/`, { authorization: `Bearer ${token}` }, message);
    return { url, pids: started.map(({ pid }) => pid), request, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
