import { randomBytes } from 'node:crypto';
import { databaseUrl, roleUrl } from '@customer-platform/deploy/provision';
import { openDatabase, startService } from '@customer-platform/service-kit';
import type { MovableClock } from './clock.ts';
import { createTestDatabase, testPassword } from './template-database.ts';

/** Services that a test platform can run. */
export type TestedService = 'agents' | 'calendar' | 'catalogue' | 'cdp' | 'crm' | 'messaging' | 'webhooks';

/** Returns the settings for a process's database connection, given the direct URL of the database. */
export type DatabaseEnv = (direct: string) => Record<string, string>;

/** Services that run in this process. */
export interface StartedServices {
  /** URLs by service name. */
  urls: Record<string, string>;
  stop(): Promise<void>;
}

/** Starts services in this process, each with its environment. */
export async function startServices(
  names: readonly string[],
  env: (name: string) => Record<string, string>,
  clock: MovableClock,
): Promise<StartedServices> {
  const started: { stop(): Promise<void> }[] = [];
  const urls: Record<string, string> = {};
  for (const name of names) {
    const module = (await import(`@customer-platform/${name}`)) as Record<string, never>;
    const running = await startService(module[name]!, env(name), { clock: clock.now });
    started.push(running);
    urls[name] = running.url;
  }
  return {
    urls,
    async stop() {
      for (const running of started.reverse()) await running.stop();
    },
  };
}

/** Creates a database, secrets and a bus prefix. Returns the environment of each process; `extra` overrides all but the database settings. */
export async function environment(
  extra: Record<string, string>,
  databaseEnv?: DatabaseEnv,
): Promise<(name: string) => Record<string, string>> {
  const { TEST_DATABASE_URL, TEST_NATS_URL, TEST_REDIS_URL } = process.env as Record<string, string>;
  const id = randomBytes(6).toString('hex');
  const database = `test_${id}`;
  await createTestDatabase(TEST_DATABASE_URL!, database);
  const admin = databaseUrl(TEST_DATABASE_URL!, database);
  const common = {
    TEST_DATABASE: database,
    HOST: '127.0.0.1',
    NATS_URL: TEST_NATS_URL!,
    BUS_PREFIX: `test-${id}`,
    CONTEXT_SECRET: `test-context-secret-${id}-${'x'.repeat(16)}`,
    LOG_LEVEL: process.env.TEST_LOG_LEVEL ?? 'error',
    // Slow test machines must not cause timeouts of replies.
    BUS_REQUEST_TIMEOUT_MS: '2000',
    REDIS_TIMEOUT_MS: '1000',
    DRAIN_SECONDS: '2',
    DRAIN_DELAY_SECONDS: '0',
    SERVICE_HOLD_SECONDS: '0',
    // Tests move the clock and write rows directly, without a notification to the processes.
    DUE_LOOK_SECONDS: '0.25',
    REDIS_URL: TEST_REDIS_URL!,
    REDIS_PREFIX: `test-${id}`,
    GATEWAY_PORT: '0',
    ADMIN_PORT: '0',
    ADMIN_TOKEN: `test-admin-token-${id}-${'x'.repeat(16)}`,
    WEBHOOKS_SECRET_KEY: randomBytes(32).toString('base64'),
    AGENTS_SECRET_KEY: randomBytes(32).toString('base64'),
    MESSAGING_SECRET_KEY: randomBytes(32).toString('base64'),
    WEBHOOKS_ALLOWED_RANGES: '127.0.0.0/8,::1/128',
    ...extra,
  };
  const ofDatabase = databaseEnv ?? ((direct) => ({ DATABASE_URL: direct }));
  return (name: string): Record<string, string> => ({ ...common, ...ofDatabase(roleUrl(admin, name, testPassword)) });
}

/** Deletes the database of an environment: hundreds of them would cost a run memory and vacuum time. */
export async function dropDatabase({ TEST_DATABASE }: Record<string, string>): Promise<void> {
  const sql = openDatabase(process.env.TEST_DATABASE_URL!, { pool: 1, service: 'testkit', statementMs: 60_000 });
  try {
    await sql`drop database if exists ${sql(TEST_DATABASE!)} with (force)`;
  } finally {
    await sql.end();
  }
}
