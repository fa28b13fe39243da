import { randomBytes } from 'node:crypto';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { freePort, portIsFree } from './local-port.ts';
import { recordProcess, runningRecord, stopRecorded } from './supervisor/process-record.ts';

// --fresh keeps these, because downloads and compiled code contain none of the platform's data.
const kept = new Set(['debian', 'compile-cache', 'generators']);
const serverNames = ['postgres', 'nats', 'redis'];

/** Secrets generated once and kept in secrets.json. */
export interface Secrets {
  ADMIN_TOKEN: string;
  TRACE_TOKEN: string;
  /** 64 hexadecimal digits. */
  CONTEXT_SECRET: string;
  /** 32 bytes in base64. */
  WEBHOOKS_SECRET_KEY: string;
  AGENTS_SECRET_KEY: string;
  MESSAGING_SECRET_KEY: string;
  REDIS_PASSWORD: string;
  /** Passwords of the services' database roles, by service name. */
  roles: Record<string, string>;
  /** Passwords of the services' bus users, by service name. */
  bus: Record<string, string>;
}

/** Creates the directory (0700) and returns its real path. */
export function openDirectory(path: string): string {
  if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink()) {
    throw new Error(`${path} must be a folder, not a link: remove the link`);
  }
  mkdirSync(path, { recursive: true, mode: 0o700 });
  return realpathSync(path);
}

/** Locks the directory for this launcher and stops processes that an earlier, killed launcher left running. */
export async function claimDirectory(directory: string, fresh: boolean): Promise<void> {
  const file = join(directory, 'launcher.json');
  const running = runningRecord(file);
  if (running !== null && running.pid !== process.pid) {
    if (!fresh)
      throw new Error(
        `the platform already runs (process ${running.pid}): stop it with Ctrl-C there, or with kill ${running.pid}`,
      );
    await stopRecorded(file, 45_000);
  }
  recordProcess(file, process.pid, 'SIGTERM');
  const run = join(directory, 'run');
  mkdirSync(run, { recursive: true });
  const orphans = readdirSync(run).filter((name) => name.endsWith('.json'));
  await Promise.all(orphans.map((name) => stopRecorded(join(run, name), 5_000)));
  await Promise.all(serverNames.map((name) => stopRecorded(join(directory, name, 'process.json'), 15_000)));
}

/** Releases the directory's lock; does nothing when another launcher holds it. */
export function releaseDirectory(directory: string): void {
  const file = join(directory, 'launcher.json');
  if (runningRecord(file)?.pid === process.pid) rmSync(file);
}

/** Deletes the data in the directory; links are removed, never followed. */
export function deleteData(directory: string): void {
  for (const name of readdirSync(directory)) {
    if (!kept.has(name) && name !== 'launcher.json') rmSync(join(directory, name), { recursive: true, force: true });
  }
}

/** Returns the path of the file with the key that the reference at /docs/reference sends requests with. */
export function docsKeyFile(directory: string): string {
  return join(directory, 'docs-key');
}

/** Writes a file atomically that only this user may read. */
export function writeSecretFile(file: string, text: string): void {
  writeFileSync(`${file}.new`, text, { mode: 0o600 });
  renameSync(`${file}.new`, file);
}

/** Writes a JSON file atomically that only this user may read. */
export function writeSecretJson(file: string, value: unknown): void {
  writeSecretFile(file, `${JSON.stringify(value, null, 2)}\n`);
}

/** Returns the JSON of a file; undefined when there is no such file. */
export function readJson<T>(file: string): T | undefined {
  if (!existsSync(file)) return undefined;
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as T;
  } catch (error) {
    throw new Error(`${file} is not JSON: correct it, or discard all data with npm start -- --fresh`, { cause: error });
  }
}

/** Returns the secrets. The first start generates them, and later starts add missing ones. */
export function loadSecrets(directory: string, serviceNames: string[]): Secrets {
  const file = join(directory, 'secrets.json');
  const found: Partial<Secrets> = readJson<Partial<Secrets>>(file) ?? {};
  const secrets: Secrets = {
    ADMIN_TOKEN: found.ADMIN_TOKEN ?? randomBytes(32).toString('base64url'),
    TRACE_TOKEN: found.TRACE_TOKEN ?? randomBytes(32).toString('base64url'),
    CONTEXT_SECRET: found.CONTEXT_SECRET ?? randomBytes(32).toString('hex'),
    WEBHOOKS_SECRET_KEY: found.WEBHOOKS_SECRET_KEY ?? randomBytes(32).toString('base64'),
    AGENTS_SECRET_KEY: found.AGENTS_SECRET_KEY ?? randomBytes(32).toString('base64'),
    MESSAGING_SECRET_KEY: found.MESSAGING_SECRET_KEY ?? randomBytes(32).toString('base64'),
    REDIS_PASSWORD: found.REDIS_PASSWORD ?? randomBytes(24).toString('base64url'),
    roles: { ...found.roles },
    bus: { ...found.bus },
  };
  for (const passwords of [secrets.roles, secrets.bus]) {
    for (const name of serviceNames) passwords[name] ??= randomBytes(24).toString('base64url');
  }
  writeSecretJson(file, secrets);
  return secrets;
}

/** Returns a port of 127.0.0.1 for each name: its previous port, unless that is in use or in `others`. */
export async function choosePorts(
  directory: string,
  names: string[],
  others: number[] = [],
): Promise<Record<string, number>> {
  const file = join(directory, 'ports.json');
  const ports: Record<string, number> = { ...readJson<Record<string, number>>(file) };
  const given = new Set(others);
  for (const name of names) {
    let port = ports[name];
    while (port === undefined || given.has(port) || !(await portIsFree(port))) port = await freePort();
    given.add(port);
    ports[name] = port;
  }
  writeSecretJson(file, ports);
  return ports;
}
