import { execFileSync } from 'node:child_process';
import { appendFileSync, chmodSync, cpSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '@customer-platform/deploy/local-port';
import { postgresServer } from '@customer-platform/deploy/servers/postgres';
import { type ServerProcess, startServer } from '@customer-platform/deploy/supervisor/managed-process';
import { newDataFolder, type Platform, startPlatform, type TestedService, waitFor } from '@customer-platform/testkit';
import postgres from 'postgres';

type Server = Awaited<ReturnType<typeof startServer>>;

/** A PostgreSQL server and its streaming standby. */
interface Pair {
  primary: Server;
  standby: Server;
  /** URLs of their superusers. */
  primaryUrl: string;
  standbyUrl: string;
  stop(): Promise<void>;
}

/** Starts a pair of servers. If `synchronous`, the primary acknowledges a commit once the standby has it. `stop` ends both and deletes their data. */
async function startPair({ synchronous }: { synchronous: boolean }): Promise<Pair> {
  const directory = newDataFolder();
  const [port, standbyPort] = [await freePort(), await freePort()];
  const first = await postgresServer({ directory: join(directory, 'primary'), port });
  await (await startServer(first)).stop();
  const { username, password } = new URL(first.url);
  appendFileSync(join(first.cwd, 'pg_hba.conf'), 'host replication all 127.0.0.1/32 scram-sha-256\n');
  const second = await postgresServer({ directory: join(directory, 'standby'), port: standbyPort });
  cpSync(first.cwd, second.cwd, { recursive: true });
  chmodSync(second.cwd, 0o700);
  const ofPrimary = `host=127.0.0.1 port=${port} user=${username} password=${password} application_name=standby`;
  configure(second, `primary_conninfo = '${ofPrimary}'\n`);
  writeFileSync(join(second.cwd, 'standby.signal'), '');
  if (second.owner) execFileSync('chown', ['-R', `${second.owner.uid}:${second.owner.gid}`, second.cwd]);
  if (synchronous) configure(first, "synchronous_standby_names = 'standby'\n");
  const standbyUrl = first.url.replace(`:${port}/`, `:${standbyPort}/`);
  const primary = await startServer(first);
  const standby = await startServer({ ...second, ready: () => isUp(standbyUrl) });
  await waitFor('the standby to stream', async () => {
    const [row] = await askServer(first.url, (sql) => sql`select state, sync_state from pg_stat_replication`);
    return row?.state === 'streaming' && row.sync_state === (synchronous ? 'sync' : 'async');
  });
  return {
    primary,
    standby,
    primaryUrl: first.url,
    standbyUrl,
    async stop() {
      await standby.stop();
      await primary.stop();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** A platform with its databases on a pair of servers. */
export interface PairedPlatform {
  pair: Pair;
  platform: Platform;
  stop(): Promise<void>;
}

/** Starts services on a pair of servers. `databaseEnv` returns a service's settings from its URL at the primary and both hosts. */
export async function startOnPair(
  services: readonly TestedService[],
  { synchronous }: { synchronous: boolean },
  databaseEnv: (direct: string, primary: string, standby: string) => Record<string, string>,
): Promise<PairedPlatform> {
  const serverBefore = process.env.TEST_DATABASE_URL!;
  const pair = await startPair({ synchronous });
  process.env.TEST_DATABASE_URL = pair.primaryUrl;
  const [primary, standby] = [new URL(pair.primaryUrl).host, new URL(pair.standbyUrl).host];
  let platform: Platform | undefined;
  const stop = async () => {
    process.env.TEST_DATABASE_URL = serverBefore;
    await platform?.stop();
    await pair.stop();
  };
  try {
    platform = await startPlatform({
      services,
      env: { LOG_LEVEL: 'silent' },
      databaseEnv: (direct) => databaseEnv(direct, primary, standby),
    });
    return { pair, platform, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

function configure({ cwd }: ServerProcess, settings: string): void {
  appendFileSync(join(cwd, 'postgresql.auto.conf'), settings);
}

/** Runs `work` on a separate connection. */
export async function askServer<Result>(url: string, work: (sql: postgres.Sql) => Promise<Result>): Promise<Result> {
  const sql = postgres(url, { max: 1, connect_timeout: 2, onnotice: () => undefined });
  try {
    return await work(sql);
  } finally {
    await sql.end({ timeout: 1 });
  }
}

const isUp = (url: string) =>
  askServer(url, (sql) => sql`select`).then(
    () => true,
    () => false,
  );
