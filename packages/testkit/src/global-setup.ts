import { rmSync } from 'node:fs';
import { newRunFolder } from './data-folder.ts';
import { startServers } from './servers.ts';

/** Starts PostgreSQL, NATS and Redis once per run, and sets their URLs in the environment of the tests. */
export default async function globalSetup(): Promise<void> {
  const folder = newRunFolder();
  process.env.TEST_FOLDER = folder;
  const servers = await startServers();
  Object.assign(process.env, {
    TEST_DATABASE_URL: servers.databaseUrl,
    TEST_NATS_URL: servers.natsUrl,
    TEST_REDIS_URL: servers.redisUrl,
  });
  (globalThis as { stopTestServers?: () => Promise<void> }).stopTestServers = async () => {
    await servers.stop();
    rmSync(folder, { recursive: true, force: true });
  };
}
