import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import {
  goFolder,
  hasApt,
  inspectMachine,
  isExecutable,
  onPath,
  type ServerSource,
  type Way,
  waysOf,
} from './ways.mjs';

const run = promisify(execFile);
const aptTimeoutMs = 300_000;
const goTimeoutMs = 900_000;
const trialTimeoutMs = 10_000;
/** Downloads run one at a time, because they share the package lists and apt's own lock is off. */
let downloads: Promise<unknown> = Promise.resolve();

/** A program that runs here. */
export interface Program {
  command: string;
  env: Record<string, string>;
}

/** Server program that runs here, or its image if only a container engine is available. */
export type ServerBinary = Program | { image: string };

/** Program to find on this machine or among Debian's packages. */
export interface WantedProgram {
  /** Name of the program, such as nats-server or promtool. */
  program: string;
  /** Debian package that contains the program, if their names differ. */
  debianPackage?: string;
  /** Argument that makes the program print its version and exit; default: --version. */
  versionArgument?: string;
  /** Folder that keeps a downloaded package. */
  cacheDirectory: string;
  /** Called with one line for each slow step. */
  say(line: string): void;
}

/** Server to find. `ways` limits the ways to try; default: all. */
export interface WantedServer extends WantedProgram, ServerSource {
  ways?: Way[];
}

/** No way to get a server works on this machine. The message says what to install. */
export class ServerNotFound extends Error {}

/** Finds a server by the ways of `waysOf`, in order, until one works. Throws ServerNotFound when none does. */
export async function findServer(wanted: WantedServer): Promise<ServerBinary> {
  const { ways, refusal } = waysOf(wanted, inspectMachine(wanted, wanted.cacheDirectory));
  const take = { path: fromPath, debian: fromDebian, go: fromGo, docker: fromDocker };
  const failures: string[] = [];
  for (const way of ways.filter((one) => wanted.ways?.includes(one) ?? true)) {
    try {
      return await take[way](wanted);
    } catch (error) {
      failures.push(`\n  ${way}: ${lastLines(error)}`);
    }
  }
  throw new ServerNotFound(refusal + failures.join(''));
}

function lastLines(error: unknown): string {
  return (error as Error).message.trim().split('\n').slice(-2).join(' ');
}

/**
 * Finds a program on PATH, else downloads its Debian package and unpacks it without root.
 * @throws Error that says what to install when neither works
 */
export async function findProgram(wanted: WantedProgram): Promise<Program> {
  const command = onPath(wanted.program);
  if (command !== null) return { command, env: {} };
  return await fromDebian(wanted).catch((error: Error) => {
    const packageName = wanted.debianPackage ?? wanted.program;
    throw new Error(
      `${wanted.program} was not found: install it, for example with apt-get install ${packageName}. ${lastLines(error)}`,
    );
  });
}

async function fromPath(wanted: WantedServer): Promise<Program> {
  return await checkProgram(wanted, { command: onPath(wanted.program) ?? wanted.program, env: {} });
}

/** Returns the program if it starts here and is new enough. Throws an Error that says why not. */
async function checkProgram(
  wanted: WantedProgram & { minimum?: readonly [number, number] },
  program: Program,
): Promise<Program> {
  const { command, env } = program;
  const { stdout } = await run(command, [wanted.versionArgument ?? '--version'], { env, timeout: trialTimeoutMs });
  const [major, minor] = wanted.minimum ?? [0, 0];
  const version = /(\d{1,3})\.(\d{1,3})/.exec(stdout);
  const [foundMajor, foundMinor] = [Number(version?.[1] ?? 0), Number(version?.[2] ?? 0)];
  if (foundMajor < major || (foundMajor === major && foundMinor < minor))
    throw new Error(`${command} is ${stdout.trim()}: install ${major}.${minor} or later`);
  return program;
}

async function fromDebian(wanted: WantedProgram): Promise<Program> {
  const packageName = wanted.debianPackage ?? wanted.program;
  const root = join(wanted.cacheDirectory, packageName);
  if (!existsSync(root)) {
    if (!hasApt()) throw new Error('this machine has no apt-get and dpkg-deb');
    downloads = downloads.catch(() => undefined).then(() => downloadPackage(wanted, root));
    await downloads;
  }
  const command = ['usr/bin', 'usr/sbin'].map((folder) => join(root, folder, wanted.program)).find(isExecutable);
  if (command === undefined) throw new Error(`Debian's package ${packageName} does not contain ${wanted.program}`);
  const triplet = process.arch === 'arm64' ? 'aarch64-linux-gnu' : 'x86_64-linux-gnu';
  const libraries = [`usr/lib/${triplet}`, `lib/${triplet}`, 'usr/lib'].map((folder) => join(root, folder));
  return await checkProgram(wanted, { command, env: { LD_LIBRARY_PATH: libraries.join(':') } });
}

/** Builds a server with Go unless an earlier start built it. */
async function fromGo(wanted: WantedServer): Promise<Program> {
  const folder = goFolder(wanted, wanted.cacheDirectory);
  const program = { command: join(folder, wanted.program), env: {} };
  const go = onPath('go');
  const built = await checkProgram(wanted, program).catch((error: Error) => {
    if (go === null) throw error;
    return null;
  });
  if (built !== null) return built;
  wanted.say(`building ${wanted.goPackage} with Go (once; several minutes on a slow machine)`);
  const env = { ...process.env, GOBIN: folder, CGO_ENABLED: '0' };
  await run(go!, ['install', wanted.goPackage!], { env, timeout: goTimeoutMs });
  return await checkProgram(wanted, program);
}

/** Downloads the package and its missing dependencies, and unpacks them into root. */
async function downloadPackage(wanted: WantedProgram, root: string): Promise<void> {
  if (existsSync(root)) return; // a download for another program of the same package unpacked it
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

/** Downloads with the existing package lists, ours, then the system's. Updates ours when both fail. */
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

/** Returns options that make apt write only to our folders and skip the system's lock, which needs root and guards other files. */
function aptOptions(work: string, lists: string): string[] {
  const options = ['Debug::NoLocking=1', 'APT::Sandbox::User=', `Dir::State::lists=${lists}`, `Dir::Cache=${work}`];
  return [...options, `Dir::Cache::archives=${join(work, 'archives')}`].flatMap((option) => ['-o', option]);
}

async function fromDocker(wanted: WantedServer): Promise<ServerBinary> {
  await run('docker', ['info'], { timeout: trialTimeoutMs });
  const known = await run('docker', ['image', 'inspect', wanted.image], { timeout: trialTimeoutMs }).then(
    () => true,
    () => false,
  );
  if (!known) {
    wanted.say(`pulling the image ${wanted.image} (once)`);
    await run('docker', ['pull', '--quiet', wanted.image], { timeout: aptTimeoutMs });
  }
  return { image: wanted.image };
}

/** Returns how to run a server in a container of that name, and removes the container before and after. */
export function inContainer(name: string, env: Record<string, string>) {
  const remove = () => removeContainer(name);
  // Docker's client reads its configuration from HOME and its engine's address from DOCKER_HOST or XDG_RUNTIME_DIR.
  const settings = Object.entries(process.env).filter(([name]) => /^(HOME$|DOCKER_|XDG_RUNTIME_DIR$)/.test(name));
  const all = { ...env, ...(Object.fromEntries(settings) as Record<string, string>) };
  return { command: 'docker', env: all, prepare: remove, cleanUp: remove };
}

/** Removes a container, running or not. Does nothing if no container has that name. */
async function removeContainer(name: string): Promise<void> {
  await run('docker', ['rm', '--force', '--volumes', name], { timeout: 30_000 }).catch((error: Error) => {
    if (!error.message.includes('No such container')) throw error;
  });
}

/** Returns a container's name, which depends only on the data folder. */
export function containerName(name: string, directory: string): string {
  return `customer-platform-${name}-${createHash('sha256').update(directory).digest('hex').slice(0, 10)}`;
}
