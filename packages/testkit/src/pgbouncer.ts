import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gateway, services } from '@customer-platform/deploy/deployables';
import { freePort } from '@customer-platform/deploy/local-port';
import { findProgram } from '@customer-platform/deploy/servers/server-binary';
import { startServer } from '@customer-platform/deploy/supervisor/managed-process';
import postgres from 'postgres';
import { programsFolder } from './data-folder.ts';
import { testPassword } from './template-database.ts';

/** Connections to PostgreSQL per role and database, fewer than a process has to the pooler. */
const serverConnections = 4;

/** A PgBouncer in front of the test's PostgreSQL. */
export interface Pooler {
  /** Returns the settings for a process's connections through the pooler. Migrations connect to PostgreSQL directly. */
  databaseEnv(direct: string): Record<string, string>;
  /** Returns a database's URL through the pooler. */
  urlOf(direct: string): string;
  stop(): Promise<void>;
}

/** Starts PgBouncer in transaction mode, with four connections to PostgreSQL per role and database. */
export async function startPooler(): Promise<Pooler> {
  // Outside of the test's folder, because PgBouncer runs as `nobody`, who cannot read that folder.
  const directory = mkdtempSync(join(tmpdir(), 'pgbouncer-'));
  chmodSync(directory, 0o755);
  mkdirSync(programsFolder(), { recursive: true });
  const say = () => undefined;
  const { command, env } = await findProgram({ program: 'pgbouncer', cacheDirectory: programsFolder(), say });
  const port = await freePort();
  const file = join(directory, 'pgbouncer.ini');
  const users = join(directory, 'users.txt');
  writeFileSync(users, [gateway, ...services].map(({ name }) => `"platform_${name}" "${testPassword}"\n`).join(''), {
    mode: 0o644,
  });
  writeFileSync(file, configOf(port, users), { mode: 0o644 });
  const urlOf = (direct: string) => {
    const url = new URL(direct);
    url.hostname = '127.0.0.1';
    url.port = String(port);
    return url.href;
  };
  const ready = async () => {
    const sql = postgres(urlOf(process.env.TEST_DATABASE_URL!), { max: 1, connect_timeout: 1 });
    // Any reply, even an error, shows that PgBouncer is running.
    const refusal = await sql`select`.catch((error: { code?: string }) => error);
    await sql.end({ timeout: 1 });
    return !('code' in refusal && refusal.code === 'ECONNREFUSED');
  };
  const running = await startServer({
    name: 'pgbouncer',
    command,
    args: [file],
    env: { ...env, PATH: process.env.PATH! },
    cwd: directory,
    stopSignal: 'SIGTERM',
    recordFile: join(directory, 'process.json'),
    logFile: join(directory, 'pgbouncer.log'),
    url: `postgres://127.0.0.1:${port}`,
    ready,
  });
  return {
    databaseEnv: (direct) => ({
      DATABASE_URL: urlOf(direct),
      DATABASE_DIRECT_URL: direct,
      DATABASE_POOLER: 'transaction',
    }),
    urlOf,
    async stop() {
      await running.stop();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

function configOf(port: number, users: string): string {
  const server = new URL(process.env.TEST_DATABASE_URL!);
  // PgBouncer refuses to run as root, so it switches to `nobody`.
  return `[databases]
* = host=${server.hostname} port=${server.port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = plain
auth_file = ${users}
pool_mode = transaction
default_pool_size = ${serverConnections}
max_client_conn = 1000
${process.getuid?.() === 0 ? 'user = nobody\n' : ''}`;
}
