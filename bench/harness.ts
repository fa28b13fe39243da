import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type ProcessEnv, type ProcessPlatform, rawRequest, startProcessPlatform } from '@customer-platform/testkit';
import postgres from 'postgres';
import { cpuSeconds } from './process-usage.ts';

export const servers = ['postgres', 'nats', 'redis'] as const;
/** Functions that stop what the running bench has started, in start order. */
const stops: (() => Promise<unknown>)[] = [];

/** Registers a function that stops something at the end of the bench; the last registered runs first. */
export const stopLast = (stop: () => Promise<unknown>) => void stops.push(stop);

let stopping: Promise<void> | undefined;

/** Stops everything that a bench has started, last started first. A bench itself calls it only between two platforms. */
export function stopAll(): Promise<void> {
  const stopEach = async () => {
    for (let stop = stops.pop(); stop; stop = stops.pop()) await stop();
  };
  stopping ??= stopEach().finally(() => {
    stopping = undefined;
  });
  return stopping;
}

/**
 * Starts the platform like `npm start`, with servers and durable data of its own, but without telemetry: `npm start` records every trace,
 * which costs about a quarter of the throughput. The compile cache is kept between runs, as in an installation: the first run on a
 * machine shows more memory. Its processes run the code of `root`, this checkout unless given.
 */
export async function startPlatform(
  env: Record<string, string> = {},
  root = join(import.meta.dirname, '..'),
): Promise<ProcessPlatform> {
  const cache = join(root, '.platform/bench-compile-cache');
  const settings: ProcessEnv = { NODE_COMPILE_CACHE: cache, OTEL_SDK_DISABLED: 'true', ...env };
  const platform = await startProcessPlatform(settings, () => root);
  stops.push(() => platform.stop());
  return platform;
}

/** Connects to the platform's database. */
export function connect({ databaseUrl }: ProcessPlatform): postgres.Sql {
  const sql = postgres(databaseUrl, { max: 2, onnotice: () => undefined });
  stops.push(() => sql.end({ timeout: 5 }));
  return sql;
}

/** Returns the process ids of a platform: gateway, services and servers. */
export const pidsOf = (platform: ProcessPlatform): number[] =>
  [...platform.processNames, ...servers].map((name) => platform.pidOf(name)!);

/** Starts measuring CPU time by process. The returned function returns the microseconds since then, divided by `count` units of work. */
export function watchCpu(platform: ProcessPlatform, names: readonly string[]): (count: number) => number[] {
  const seconds = () => names.map((name) => cpuSeconds([platform.pidOf(name)!]));
  const before = seconds();
  return (count) => seconds().map((now, index) => ((now - before[index]!) / count) * 1e6);
}

/** Creates a key of an account's sandbox. */
export async function sandboxKey({ adminUrl, adminToken }: ProcessPlatform, account: string): Promise<string> {
  const body = { name: 'sandbox', mode: 'test', scopes: ['*'] };
  const made = await rawRequest(adminUrl, 'POST', `/admin/accounts/${account}/keys`, { key: adminToken, body });
  if (made.status !== 201) throw new Error(`creating the sandbox's key returned ${made.status}: ${made.text}`);
  return (made.body as { key: string }).key;
}

/** Helper process of a bench, listening at `url`. */
export interface Child {
  url: string;
  pid: number;
}

/** Starts a file of `children/` with Node; resolves when it has printed its URL. Throws if it exits before that. */
export async function startChild(file: string, ...args: string[]): Promise<Child> {
  const child = spawn(process.execPath, [`${import.meta.dirname}/children/${file}`, ...args], {
    stdio: ['pipe', 'pipe', 'inherit'], // exits when its standard input ends, so that it never outlives the bench
  });
  const ended = once(child, 'exit');
  const said = once(createInterface(child.stdout), 'line').then(([line]) => line as string);
  const url = await Promise.race([said, ended.then(() => undefined)]);
  if (url === undefined) throw new Error(`${file} exited before it listened`);
  stops.push(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  return { url, pid: child.pid! };
}

/** Request that a receiver got: `id` is the event's id for a webhook, the message's id for a message; `at` is in epoch milliseconds. */
interface Arrival {
  path: string;
  id: string;
  at: number;
}

/** A customer's server in a separate process: accepts webhooks at any path, and messages as a provider under `/send`. */
export interface Receiver {
  url: string;
  /** Returns the arrivals since the last call. */
  arrivals(): Promise<Arrival[]>;
  /** Stops responding to requests whose path begins with this prefix; at first that is `/hang`. */
  hang(prefix: string): Promise<void>;
  /** Responds to all hanging requests, and to later ones immediately. */
  release(): Promise<void>;
}

export async function startReceiver(): Promise<Receiver> {
  const { url } = await startChild('receiver.ts');
  const ask = async (path: string) => (await (await fetch(`${url}${path}`)).json()) as Arrival[];
  return {
    url,
    arrivals: () => ask('/report'),
    hang: async (prefix) => void (await ask(`/hang?prefix=${encodeURIComponent(prefix)}`)),
    release: async () => void (await ask('/release')),
  };
}
