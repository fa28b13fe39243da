import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { connect } from '@nats-io/transport-node';
import postgres from 'postgres';
import { firstLine, freePort, portIsFree } from '../local-port.ts';
import { type ServerProcess, spawnManaged, startServer } from '../supervisor/managed-process.ts';
import {
  identityByPs,
  processIdentity,
  psFields,
  recordProcess,
  runningRecord,
  signalProcess,
  stopRecorded,
} from '../supervisor/process-record.ts';
import { waitUntil } from '../supervisor/wait-until.ts';
import { busUrl, natsServer } from './nats.ts';
import { busPermissions, passwordVariable } from './nats-config.ts';
import { postgresServer } from './postgres.ts';
import { redisServer } from './redis.ts';
import { findProgram, findServer, ServerNotFound } from './server-binary.ts';
import { type Found, natsSource, redisSource, type Way, waysOf } from './ways.mjs';

const root = mkdtempSync(join(tmpdir(), 'servers-'));
const cacheDirectory = join(import.meta.dirname, '../../../.platform/debian'); // shared with the launcher, so that each download runs once

async function query<T>(url: string, ask: (sql: postgres.Sql) => Promise<T>): Promise<T> {
  const sql = postgres(url, { max: 1, onnotice: () => undefined });
  try {
    return await ask(sql);
  } finally {
    await sql.end({ timeout: 1 });
  }
}

async function startAndOrphan(server: ServerProcess): Promise<number> {
  await server.prepare?.();
  const child = spawnManaged(server);
  expect(await waitUntil(() => server.ready(), 60_000)).toBe(true);
  return child.pid ?? 0;
}

/** Expects a secret in the server's configuration file, which only its owner may read, and not in its arguments. */
function expectHidden(server: ServerProcess, secret: string): void {
  const config = join(server.cwd, 'server.conf');
  expect(readFileSync(config, 'utf8')).toContain(secret);
  expect(statSync(config).mode & 0o777).toBe(0o600);
  expect(server.args.join(' ')).not.toContain(secret);
}

afterAll(() => rmSync(root, { recursive: true, force: true }));

describe('our own PostgreSQL', () => {
  it('starts, keeps its data across a restart and leaves no process behind', async () => {
    const directory = join(root, 'postgres');
    const port = await freePort();
    const first = await startServer(await postgresServer({ directory, port }));
    await query(first.url, (sql) => sql`create table kept as select 42 as answer`);
    expect(await query(first.url, (sql) => sql`show fsync`)).toMatchObject([{ fsync: 'on' }]);
    expect(await query(first.url, (sql) => sql`show server_encoding`)).toMatchObject([{ server_encoding: 'UTF8' }]);
    await first.stop();
    expect(processIdentity(first.pid)).toBeNull();
    expect(await portIsFree(port)).toBe(true);
    const second = await startServer(await postgresServer({ directory, port }));
    expect(await query(second.url, (sql) => sql`select answer from kept`)).toMatchObject([{ answer: 42 }]);
    await second.stop();
    expect(existsSync(join(directory, 'process.json'))).toBe(false);
  });

  it('works inside a folder that its user may not enter', async () => {
    const closed = join(root, 'closed');
    mkdirSync(closed, { mode: 0o700 });
    const server = await startServer(
      await postgresServer({ directory: join(closed, 'postgres'), port: await freePort() }),
    );
    expect(await query(server.url, (sql) => sql`select 1 as one`)).toMatchObject([{ one: 1 }]);
    await server.stop();
  });

  it('stops an orphan in its data directory, even one without a process record, and starts', async () => {
    const directory = join(root, 'postgres');
    const orphaned = await postgresServer({ directory, port: await freePort() });
    const orphan = await startAndOrphan(orphaned);
    rmSync(orphaned.recordFile);
    const server = await startServer(await postgresServer({ directory, port: await freePort() }));
    expect(processIdentity(orphan)).toBeNull();
    expect(server.pid).not.toBe(orphan);
    await server.stop();
  });

  it('ignores a lock file whose process id now belongs to another process', async () => {
    const directory = join(root, 'postgres');
    writeFileSync(join(directory, 'data', 'postmaster.pid'), `${process.pid}\n/elsewhere\n`);
    const server = await startServer(await postgresServer({ directory, port: await freePort() }));
    expect(await query(server.url, (sql) => sql`select 1 as one`)).toMatchObject([{ one: 1 }]);
    await server.stop();
  });

  it('says why it cannot start', async () => {
    const server = await postgresServer({
      directory: join(root, 'postgres'),
      port: await freePort(),
      settings: { fsync: 'maybe' },
    });
    await expect(startServer(server, 60_000)).rejects.toThrow(/^postgres did not start: .*fsync/s);
  });
});

describe('our own NATS and Redis', () => {
  it('NATS starts with JetStream, restarts with its streams and leaves no process behind', async () => {
    const options = { directory: join(root, 'nats'), port: await freePort(), cacheDirectory };
    for (let round = 0; round < 2; round += 1) {
      const server = await startServer(await natsServer(options));
      expect(await firstLine(options.port, '')).toMatch(/^INFO .*"jetstream":true/);
      await server.stop();
      expect(processIdentity(server.pid)).toBeNull();
    }
    expect(await portIsFree(options.port)).toBe(true);
  }, 120_000);

  it('Redis starts, replies and leaves no process behind', async () => {
    const options = { directory: join(root, 'redis'), port: await freePort(), cacheDirectory };
    const server = await startServer(await redisServer(options));
    expect(await firstLine(options.port, 'SET a 1\r\n')).toBe('+OK');
    await server.stop();
    expect(processIdentity(server.pid)).toBeNull();
    expect(await portIsFree(options.port)).toBe(true);
  }, 120_000);

  it("NATS accepts only a service's own password, which only the files' owner can read", async () => {
    const passwords = Object.fromEntries(Object.keys(busPermissions()).map((name) => [name, `password of ${name}`]));
    const options = { directory: join(root, 'closed-nats'), port: await freePort(), cacheDirectory };
    const described = await natsServer({ ...options, users: { prefix: 'platform', passwords } });
    expectHidden(described, 'password of');
    const server = await startServer(described);
    const login = (user: string, pass: string) => connect({ servers: server.url, user, pass, reconnect: false });
    await expect(login('cdp', passwords.crm!)).rejects.toThrow(/authorization/i);
    await expect(connect({ servers: server.url, reconnect: false })).rejects.toThrow(/authorization/i);
    await (await login('cdp', passwords.cdp!)).close();
    expect(busUrl(server.url, 'cdp', 'a/b')).toBe(`nats://cdp:a%2Fb@127.0.0.1:${options.port}`);
    await server.stop();
  }, 120_000);

  it("NATS accepts the containers' configuration, whatever a password begins with", async () => {
    const { command, env } = await natsServer({ directory: join(root, 'no-nats'), port: 1, cacheDirectory });
    const file = join(import.meta.dirname, '../../nats/server.conf');
    const passwords = Object.keys(busPermissions()).map((name) => [passwordVariable(name), '"1e5-_k"']);
    const check = (given: Record<string, string>) =>
      spawnSync(command, ['--config', file, '-t'], { env: { ...env, ...given }, encoding: 'utf8', timeout: 20_000 });
    expect(check(Object.fromEntries(passwords))).toMatchObject({ status: 0 });
    const { status, stderr } = check(Object.fromEntries(passwords.slice(1)));
    expect([status, stderr]).toEqual([1, expect.stringContaining('NATS_PASSWORD_GATEWAY')]);
  }, 120_000);

  it('NATS needs a password for each service', async () => {
    const options = { directory: join(root, 'no-nats'), port: 1, cacheDirectory };
    const described = natsServer({ ...options, users: { prefix: 'platform', passwords: { gateway: 'x' } } });
    await expect(described).rejects.toThrow('the bus has no password for agents');
  }, 120_000);

  it("Redis accepts commands only with its password, which only the file's owner can read", async () => {
    const options = { directory: join(root, 'closed-redis'), port: await freePort(), cacheDirectory };
    const described = await redisServer({ ...options, password: 'its-password' });
    expectHidden(described, 'its-password');
    const server = await startServer(described);
    expect(server.url).toBe(`redis://:its-password@127.0.0.1:${options.port}`);
    expect(await firstLine(options.port, 'SET a 1\r\n')).toMatch(/^-NOAUTH/);
    expect(await firstLine(options.port, 'AUTH its-password\r\n')).toBe('+OK');
    await server.stop();
  }, 120_000);
});

describe('the ways to get a server', () => {
  const bare: Found = {
    platform: 'linux',
    onPath: false,
    debianUnpacked: false,
    apt: false,
    goBuilt: false,
    go: false,
    docker: false,
  };
  const mac = { platform: 'darwin', go: true, docker: true } as const;
  it.each<[string, Partial<Found>, Way[], Way[]]>([
    ['Debian', { apt: true }, ['debian'], ['debian']],
    ['Debian that has it', { apt: true, onPath: true }, ['path', 'debian'], ['path', 'debian']],
    ['Debian offline, with all caches', { debianUnpacked: true, goBuilt: true }, ['debian', 'go'], ['debian']],
    ['Debian where Go built it before', { apt: true, goBuilt: true }, ['go', 'debian'], ['debian']],
    ['Debian with all', { apt: true, go: true, docker: true }, ['debian', 'go', 'docker'], ['debian', 'docker']],
    ['Fedora with Go and Docker', { go: true, docker: true }, ['go', 'docker'], ['docker']],
    ['Fedora with Docker', { docker: true }, ['docker'], ['docker']],
    ['macOS with Homebrew', { ...mac, onPath: true }, ['path', 'go', 'docker'], ['path', 'docker']],
    ['macOS', mac, ['go', 'docker'], ['docker']],
    ['macOS with a folder from Linux', { ...mac, debianUnpacked: true, apt: true }, ['go', 'docker'], ['docker']],
    ['a machine with nothing', {}, [], []],
  ])('on %s', (_, found, nats, redis) => {
    expect(waysOf(natsSource, { ...bare, ...found }).ways).toEqual(nats);
    expect(waysOf(redisSource, { ...bare, ...found }).ways).toEqual(redis);
  });

  it('say what to install when there is none', () => {
    expect(waysOf(natsSource, { ...bare, platform: 'darwin' }).refusal).toMatch(
      /^nats-server was not found: install nats-server with brew, install Go .*, start Docker, or set NATS_URL/,
    );
    expect(waysOf(redisSource, { ...bare, apt: true }).refusal).toMatch(
      /^redis-server was not found: install redis-server with apt-get, start Docker, or set REDIS_URL/,
    );
  });

  it('skip a program that does not start or is too old, and say so', async () => {
    const folder = join(root, 'programs');
    mkdirSync(folder);
    const fake = (name: string, script: string) => writeFileSync(join(folder, name), script, { mode: 0o755 });
    const before = process.env.PATH;
    process.env.PATH = `${folder}:${before}`;
    const wanted = { ...natsSource, cacheDirectory: join(root, 'none'), say: () => undefined, ways: ['path' as const] };
    try {
      fake('nats-server', '#!/bin/sh\necho nats-server: v2.7.4\n');
      await expect(findServer(wanted)).rejects.toThrow(
        /^ {2}path: .* is nats-server: v2\.7\.4: install 2\.9 or later/m,
      );
      fake('nats-server', 'no program');
      await expect(findServer(wanted)).rejects.toThrow(ServerNotFound);
      fake('nats-server', '#!/bin/sh\necho nats-server: v2.10.0\n');
      expect(await findServer(wanted)).toEqual({ command: join(folder, 'nats-server'), env: {} });
      // Go writes the program into the folder that GOBIN names.
      fake(
        'go',
        '#!/bin/sh\nmkdir -p "$GOBIN"\nprintf "#!/bin/sh\\necho v2.15.3\\n" >"$GOBIN/nats-server"\nchmod +x "$GOBIN/nats-server"\n',
      );
      const built = { command: join(root, 'none', 'go', 'v2.15.3', 'nats-server'), env: {} };
      expect(await findServer({ ...wanted, ways: ['go'] })).toEqual(built);
      rmSync(join(folder, 'go'));
      expect(await findServer({ ...wanted, ways: ['go'] })).toEqual(built);
    } finally {
      process.env.PATH = before;
    }
  });
});

describe('a program that is not a server', () => {
  const say = () => undefined;

  it('is found on PATH or in its Debian package', async () => {
    const wanted = { program: 'redis-cli', debianPackage: 'redis-server', cacheDirectory, say };
    const [first, second] = await Promise.all([findProgram(wanted), findProgram(wanted)]);
    expect(second).toEqual(first);
    expect(spawnSync(first.command, ['--version'], { env: first.env, encoding: 'utf8' }).stdout).toMatch(/^redis-cli /);
  }, 120_000);

  it('names the package to install when it cannot be found', async () => {
    const wanted = { program: 'no-such-program', debianPackage: 'redis-server', cacheDirectory, say };
    await expect(findProgram(wanted)).rejects.toThrow(
      /^no-such-program was not found: install it, for example with apt-get install redis-server\./,
    );
  }, 120_000);
});

describe('a recorded process', () => {
  it('is stopped by the next start', async () => {
    const server = await redisServer({ directory: join(root, 'redis'), port: await freePort(), cacheDirectory });
    const orphan = await startAndOrphan(server);
    expect(await stopRecorded(server.recordFile, 5_000)).toBe(true);
    expect(processIdentity(orphan)).toBeNull();
    expect(existsSync(server.recordFile)).toBe(false);
  }, 120_000);

  it('is never mistaken for a later process with the same id', async () => {
    const file = join(root, 'record.json');
    recordProcess(file, process.pid, 'SIGKILL');
    expect(runningRecord(file)?.pid).toBe(process.pid);
    const record = JSON.parse(readFileSync(file, 'utf8'));
    writeFileSync(file, JSON.stringify({ ...record, identity: 'an earlier start' }));
    expect(await stopRecorded(file, 1_000)).toBe(false);
    // macOS has no /proc and uses ps.
    expect(identityByPs(process.pid)).toMatch(/^[A-Z][a-z]{2} [A-Z][a-z]{2} \d+ [\d:]{8} \d{4}$/);
    expect(psFields(process.pid, 'command')).toContain(process.execPath);
    expect(identityByPs(2 ** 22 + 1)).toBeNull();
    expect(signalProcess(2 ** 22 + 1, 'SIGTERM')).toBe(false);
  });
});
