import type { ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import { isAlive, logTail, type ManagedProcess, spawnManaged, stopChild } from './managed-process.ts';
import { signalProcess } from './process-record.ts';
import { waitUntil } from './wait-until.ts';

const firstDelayMs = 250;
const longestDelayMs = 5_000;
const aliveLongEnoughMs = 30_000;
const exitsBeforeGivingUp = 5;

/** Runs processes until stop() and restarts those that die. */
export interface Supervisor {
  /**
   * Starts processes in parallel. Resolves when all are ready.
   * @throws Error when a process is not ready within readyTimeoutMs, when it exits five times before that, or after stop()
   */
  start(processes: ManagedProcess[]): Promise<void>;
  /** Stops the groups in reverse start order: each process by its stop signal, then SIGKILL after drainMs. */
  stop(): Promise<void>;
  /** Kills all processes with SIGKILL at once. */
  kill(): Promise<void>;
}

/**
 * @param options.write receives a line of output without its line end; drainMs, readyTimeoutMs in milliseconds
 * @param options.shown formats a line that a process writes; default: unchanged
 * @param options.progress is called when a group starts and whenever one of its processes is ready, with the names of the processes that are not
 */
export function createSupervisor(options: {
  write(line: string): void;
  progress?(waiting: string[], all: number): void;
  shown?(line: string): string;
  colour?: boolean;
  drainMs?: number;
  readyTimeoutMs?: number;
}): Supervisor {
  const { write, shown = (line) => line, colour = false, drainMs = 15_000, readyTimeoutMs = 180_000 } = options;
  const groups: Member[][] = [];
  const members = () => groups.flat();
  let stopping = false;

  return {
    async start(processes) {
      if (stopping) throw new Error('the platform is being stopped');
      const group = processes.map((managed, index) => {
        const label = colour ? `\x1b[${31 + ((members().length + index) % 6)}m${managed.name}\x1b[0m` : managed.name;
        return new Member(managed, (line) => write(`${label} | ${shown(line)}`), write);
      });
      groups.push(group);
      const waiting = new Set(group.map(({ managed }) => managed.name));
      const tell = () => waiting.size > 0 && options.progress?.([...waiting], group.length);
      tell();
      await Promise.all(
        group.map(async (member) => {
          await member.startFirst(readyTimeoutMs);
          waiting.delete(member.managed.name);
          tell();
        }),
      );
    },
    async stop() {
      stopping = true;
      for (const member of members()) member.retire();
      for (const group of [...groups].reverse()) await Promise.all(group.map((member) => member.stop(drainMs)));
    },
    async kill() {
      stopping = true;
      for (const member of members()) member.retire();
      await Promise.all(members().map((member) => member.stop(0)));
    },
  };
}

class Member {
  readonly managed: ManagedProcess;
  readonly #show: (line: string) => void;
  readonly #write: (line: string) => void;
  #child: ChildProcess | null = null;
  #retired = false;
  #delayMs = firstDelayMs;
  #exits = 0;
  #restart: NodeJS.Timeout | null = null;
  #launching: Promise<void> = Promise.resolve();
  #lastFailure = '';
  #hasOutput = false;

  constructor(managed: ManagedProcess, show: (line: string) => void, write: (line: string) => void) {
    this.managed = managed;
    this.#show = (line) => {
      this.#hasOutput = true;
      show(line);
    };
    this.#write = write;
  }

  async startFirst(readyTimeoutMs: number): Promise<void> {
    this.#launch();
    const over = () => this.#retired || this.#exits >= exitsBeforeGivingUp;
    const ready = async () => over() || (this.#child !== null && isAlive(this.#child) && (await this.managed.ready()));
    const inTime = await waitUntil(ready, readyTimeoutMs);
    if (this.#retired) throw new Error('the platform is being stopped');
    if (this.#exits >= exitsBeforeGivingUp) {
      throw new Error(`${this.managed.name} exited ${this.#exits} times before it was ready: ${this.#cause()}`);
    }
    if (!inTime)
      throw new Error(`${this.managed.name} was not ready after ${readyTimeoutMs / 1_000} s: ${this.#cause()}`);
  }

  /** Prevents further restarts. */
  retire(): void {
    this.#retired = true;
    if (this.#restart !== null) clearTimeout(this.#restart);
  }

  async stop(graceMs: number): Promise<void> {
    this.retire();
    await this.#launching;
    if (this.#child === null) return;
    if (graceMs === 0 && isAlive(this.#child) && this.#child.pid !== undefined)
      signalProcess(-this.#child.pid, 'SIGKILL');
    const orderly = await stopChild(this.#child, this.managed, graceMs);
    if (!orderly && graceMs > 0)
      this.#write(`${this.managed.name} did not stop within ${graceMs / 1_000} s and was killed`);
  }

  #cause(): string {
    if (this.managed.logFile !== undefined) return `\n${logTail(this.managed)}`;
    if (this.#lastFailure !== '') return this.#lastFailure;
    if (this.#hasOutput) return 'its output is above';
    return 'it printed nothing; if this machine is busy, run npm start again, which continues from here';
  }

  #launch(): void {
    this.#launching = this.#prepareAndSpawn().catch((error: Error) => this.#ended(error.message));
  }

  async #prepareAndSpawn(): Promise<void> {
    await this.managed.prepare?.();
    if (this.#retired) return;
    const startedAt = performance.now();
    const child = spawnManaged(this.managed);
    this.#child = child;
    for (const stream of [child.stdout, child.stderr]) if (stream) createInterface(stream).on('line', this.#show);
    let reported = false;
    const report = (what: string) => {
      if (reported) return;
      reported = true;
      if (performance.now() - startedAt > aliveLongEnoughMs) this.#delayMs = firstDelayMs;
      this.#ended(what);
    };
    child.once('error', (error) => report(`could not start (${error.message})`));
    child.once('exit', (code, signal) => report(`exited with ${signal ?? `code ${code}`}`));
  }

  #ended(what: string): void {
    this.#exits += 1;
    this.#lastFailure = what;
    if (this.#retired) return;
    const log = this.managed.logFile === undefined ? '' : ` (log: ${this.managed.logFile})`;
    this.#write(`${this.managed.name} ${what}${log}; restarting in ${this.#delayMs / 1_000} s`);
    this.#restart = setTimeout(() => this.#launch(), this.#delayMs);
    this.#delayMs = Math.min(this.#delayMs * 2, longestDelayMs);
  }
}
