import { startServers } from './servers.ts';

/** Starts PostgreSQL, NATS and Redis once per run; test files find them in the environment. */
export default async function globalSetup(): Promise<void> {
  const servers = await startServers();
  Object.assign(process.env, {
    TEST_DATABASE_URL: servers.databaseUrl,
    TEST_NATS_URL: servers.natsUrl,
    TEST_REDIS_URL: servers.redisUrl,
  });
  (globalThis as { testServers?: typeof servers }).testServers = servers;
}
