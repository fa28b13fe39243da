import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readFileSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { recordProcess, signalProcess, stopRecorded } from './process-record.ts';
import { waitUntil } from './wait-until.ts';

/** Process that the supervisor runs, or that a test runs once. */
export interface ManagedProcess {
  name: string;
  command: string;
  args: string[];
  /** The whole environment; nothing is inherited. */
  env: Record<string, string>;
  cwd: string;
  /** User that the process runs as; default: the caller. */
  owner?: { uid: number; gid: number } | undefined;
  /** Signal for a graceful shutdown. */
  stopSignal: NodeJS.Signals;
  /** Process record. The next start reads it to find an orphan. */
  recordFile: string;
  /** File for the output. Without it the supervisor shows the output. */
  logFile?: string;
  /** Runs before every start: creates data, stops an orphan. Throws if the process cannot start. */
  prepare?(): Promise<void>;
  /** Returns whether the process is ready. Never throws. */
  ready(): Promise<boolean>;
  /** Runs after a kill: removes what the process left behind. */
  cleanUp?(): Promise<void>;
}

/** Server of the platform (PostgreSQL, NATS, Redis) and the URL it has once it is ready. */
export interface ServerProcess extends ManagedProcess {
  url: string;
}

/**
 * Starts the process in its own session, so that the terminal's Ctrl-C reaches only the launcher.
 * The child emits 'error' when it cannot start (no such file, no permission).
 */
export function spawnManaged(managed: ManagedProcess): ChildProcess {
  const options = { cwd: managed.cwd, env: managed.env, detached: true, ...managed.owner };
  if (managed.logFile === undefined) {
    const child = spawn(managed.command, managed.args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
    if (child.pid !== undefined) recordProcess(managed.recordFile, child.pid, managed.stopSignal);
    return child;
  }
  mkdirSync(dirname(managed.logFile), { recursive: true });
  const log = openSync(managed.logFile, 'w', 0o600);
  const child = spawn(managed.command, managed.args, { ...options, stdio: ['ignore', log, log] });
  closeSync(log);
  if (child.pid !== undefined) recordProcess(managed.recordFile, child.pid, managed.stopSignal);
  return child;
}

/** Returns whether a child is running: it was started and has neither exited nor been killed. */
export function isAlive(child: ChildProcess): boolean {
  return child.pid !== undefined && child.exitCode === null && child.signalCode === null;
}

/** Stops a child with its stop signal, then after graceMs with SIGKILL to its whole group. Resolves true when no SIGKILL was needed. */
export async function stopChild(child: ChildProcess, managed: ManagedProcess, graceMs: number): Promise<boolean> {
  let orderly = true;
  if (isAlive(child) && child.pid !== undefined) {
    signalProcess(child.pid, managed.stopSignal);
    orderly = await waitUntil(() => !isAlive(child), graceMs, 20);
    if (!orderly) {
      signalProcess(-child.pid, 'SIGKILL');
      await waitUntil(() => !isAlive(child), 5_000, 20);
    }
  }
  await managed.cleanUp?.();
  rmSync(managed.recordFile, { force: true });
  return orderly;
}

/**
 * Starts a server once, for a test run. Resolves when the server is ready; stop() ends it. Does not restart a server that dies.
 * @throws Error with the end of its log if it does not respond within timeoutMs
 */
export async function startServer(
  server: ServerProcess,
  timeoutMs = 30_000,
): Promise<{ url: string; pid: number; stop(): Promise<void> }> {
  await stopRecorded(server.recordFile, 10_000);
  await server.prepare?.();
  const child = spawnManaged(server);
  let failure: string | null = null;
  child.once('error', (error) => {
    failure = error.message;
  });
  const up = await waitUntil(async () => failure !== null || !isAlive(child) || (await server.ready()), timeoutMs);
  if (!up || failure !== null || !isAlive(child) || child.pid === undefined) {
    await stopChild(child, server, 2_000);
    throw new Error(`${server.name} did not start: ${failure ?? logTail(server)}`);
  }
  return {
    url: server.url,
    pid: child.pid,
    stop: async () => {
      await stopChild(child, server, 10_000);
    },
  };
}

/** Returns the last lines of a process's log, for an error message. */
export function logTail(managed: ManagedProcess, lines = 8): string {
  if (managed.logFile === undefined) return 'its output is above';
  try {
    return readFileSync(managed.logFile, 'utf8').trimEnd().split('\n').slice(-lines).join('\n') || 'its log is empty';
  } catch (error) {
    return `its log cannot be read (${(error as Error).message})`;
  }
}
