import { execFile, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { accessSync, constants, existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const aptTimeoutMs = 300_000;
/** Runs one download at a time: they share the package lists, and apt's own lock is off. */
let downloads: Promise<unknown> = Promise.resolve();

/** A program that runs here. */
export interface Program {
  command: string;
  env: Record<string, string>;
}

/** A server's program that runs here, or its image if only a container engine is available. */
export type ServerBinary = Program | { image: string };

/** Program to find on this machine or among Debian's packages. */
export interface WantedProgram {
  /** Program's name: nats-server, promtool. */
  program: string;
  /** Debian package that holds it, if it is not named as the program is. */
  debianPackage?: string;
  /** Argument by which it says its version and ends; --version unless given. */
  versionArgument?: string;
  /** Folder in which a downloaded package is kept. */
  cacheDirectory: string;
  /** Called with one line for each slow step. */
  say(line: string): void;
}

/** Server to find, and the ways to try; one that fails falls through to the next. */
export interface WantedServer extends WantedProgram {
  image: string;
  ways?: ('path' | 'debian' | 'container')[];
}

/**
 * Finds a server: on PATH (and in Debian's folders of servers), else as a Debian package downloaded and unpacked without
 * root, else as a container image.
 * @throws Error that says what to install when none of these works
 */
export async function findServer(wanted: WantedServer): Promise<ServerBinary> {
  const ways = wanted.ways ?? ['path', 'debian', 'container'];
  const refusals: string[] = [];
  for (const way of ways) {
    try {
      const found =
        way === 'path' ? onPath(wanted.program) : way === 'debian' ? await fromDebian(wanted) : await image(wanted);
      if (found !== null) return found;
    } catch (error) {
      refusals.push(`${way}: ${(error as Error).message.trim().split('\n').slice(-2).join(' ')}`);
    }
  }
  throw new Error(
    `${wanted.program} was not found: install it (for example apt-get install ${wanted.program}), start Docker, ` +
      `or set ${wanted.program === 'nats-server' ? 'NATS_URL' : 'REDIS_URL'}.${refusals.map((why) => `\n  ${why}`).join('')}`,
  );
}

/**
 * Finds a program on PATH, else in a Debian package downloaded and unpacked without root.
 * @throws Error that says what to install when neither works
 */
export async function findProgram(wanted: WantedProgram): Promise<Program> {
  const refusal = (why: string) => {
    const packageName = wanted.debianPackage ?? wanted.program;
    return new Error(`${wanted.program} was not found: install it (for example apt-get install ${packageName}).${why}`);
  };
  const found =
    onPath(wanted.program) ??
    (await fromDebian(wanted).catch((error: Error) => {
      throw refusal(` ${error.message.trim().split('\n').slice(-2).join(' ')}`);
    }));
  if (found === null) throw refusal('');
  return found;
}

function onPath(program: string): Program | null {
  const folders = [
    ...(process.env.PATH ?? '').split(':'),
    '/usr/sbin',
    '/usr/local/sbin',
    '/usr/local/bin',
    '/usr/bin',
  ];
  const command = folders
    .filter(Boolean)
    .map((folder) => join(folder, program))
    .find(isExecutable);
  return command === undefined ? null : { command, env: {} };
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

async function fromDebian(wanted: WantedProgram): Promise<Program | null> {
  const packageName = wanted.debianPackage ?? wanted.program;
  const root = join(wanted.cacheDirectory, packageName);
  if (!existsSync(root)) {
    if (onPath('apt-get') === null || onPath('dpkg-deb') === null) return null;
    downloads = downloads.catch(() => undefined).then(() => downloadPackage(wanted, root));
    await downloads;
  }
  const command = ['usr/bin', 'usr/sbin'].map((folder) => join(root, folder, wanted.program)).find(isExecutable);
  if (command === undefined) throw new Error(`Debian's package ${packageName} holds no ${wanted.program}`);
  const triplet = process.arch === 'arm64' ? 'aarch64-linux-gnu' : 'x86_64-linux-gnu';
  const libraries = [`usr/lib/${triplet}`, `lib/${triplet}`, 'usr/lib'].map((folder) => join(root, folder));
  const env = { LD_LIBRARY_PATH: libraries.join(':') };
  const trial = spawnSync(command, [wanted.versionArgument ?? '--version'], { env, timeout: 10_000, encoding: 'utf8' });
  if (trial.status !== 0)
    throw new Error(`Debian's ${wanted.program} does not run here: ${trial.error?.message ?? trial.stderr}`);
  return { command, env };
}

/** Downloads the package and its missing dependencies, and unpacks them into root. */
async function downloadPackage(wanted: WantedProgram, root: string): Promise<void> {
  if (existsSync(root)) return; // another program of the same package was wanted before
  wanted.say(`downloading Debian's ${wanted.debianPackage ?? wanted.program} (once)`);
  mkdirSync(wanted.cacheDirectory, { recursive: true });
  const work = mkdtempSync(join(wanted.cacheDirectory, 'download-'));
  for (const folder of ['archives/partial', 'root']) mkdirSync(join(work, folder), { recursive: true });
  try {
    await downloadArchives(wanted, work);
    for (const file of readdirSync(join(work, 'archives')).filter((name) => name.endsWith('.deb'))) {
      await run('dpkg-deb', ['-x', join(work, 'archives', file), join(work, 'root')]);
    }
    try {
      renameSync(join(work, 'root'), root);
    } catch (error) {
      if (!existsSync(root)) throw error; // another process was faster
    }
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** Downloads with the existing package lists, ours and the system's; updates them when they name no file that exists. */
async function downloadArchives(wanted: WantedProgram, work: string): Promise<void> {
  const packageName = wanted.debianPackage ?? wanted.program;
  const own = join(wanted.cacheDirectory, 'lists');
  mkdirSync(join(own, 'partial'), { recursive: true });
  const filled = (lists: string) => existsSync(lists) && readdirSync(lists).some((file) => file.includes('_Packages'));
  for (const lists of [own, '/var/lib/apt/lists'].filter(filled)) {
    const done = await download(packageName, work, lists).then(
      () => true,
      () => false, // an outdated list names files that the archive no longer has
    );
    if (done) return;
  }
  wanted.say("reading Debian's package lists (once)");
  await run('apt-get', [...aptOptions(work, own), 'update'], { timeout: aptTimeoutMs });
  await download(packageName, work, own);
}

async function download(packageName: string, work: string, lists: string): Promise<void> {
  const args = ['--yes', '--download-only', '--no-install-recommends', '--reinstall', 'install', packageName];
  await run('apt-get', [...aptOptions(work, lists), ...args], { timeout: aptTimeoutMs });
}

/** Returns options with which apt writes only to our folders, without the system's lock, which needs root and guards other files. */
function aptOptions(work: string, lists: string): string[] {
  const options = ['Debug::NoLocking=1', 'APT::Sandbox::User=', `Dir::State::lists=${lists}`, `Dir::Cache=${work}`];
  return [...options, `Dir::Cache::archives=${join(work, 'archives')}`].flatMap((option) => ['-o', option]);
}

async function image(wanted: WantedServer): Promise<ServerBinary | null> {
  if (onPath('docker') === null) return null;
  await run('docker', ['info'], { timeout: 10_000 });
  const known = await run('docker', ['image', 'inspect', wanted.image], { timeout: 10_000 }).then(
    () => true,
    () => false,
  );
  if (!known) {
    wanted.say(`pulling the image ${wanted.image} (once)`);
    await run('docker', ['pull', '--quiet', wanted.image], { timeout: aptTimeoutMs });
  }
  return { image: wanted.image };
}

/** Returns how a server is run in a container of that name, which is removed before and after. */
export function inContainer(name: string, env: Record<string, string>) {
  const remove = () => removeContainer(name);
  // Docker's client reads its configuration from HOME.
  return { command: 'docker', env: { ...env, HOME: process.env.HOME ?? '/' }, prepare: remove, cleanUp: remove };
}

/** Removes a container, running or not; does nothing if there is none of that name. */
async function removeContainer(name: string): Promise<void> {
  await run('docker', ['rm', '--force', '--volumes', name], { timeout: 30_000 }).catch((error: Error) => {
    if (!error.message.includes('No such container')) throw error;
  });
}

/** Returns a container's name, which depends only on the data folder. */
export function containerName(name: string, directory: string): string {
  return `customer-platform-${name}-${createHash('sha256').update(directory).digest('hex').slice(0, 10)}`;
}
