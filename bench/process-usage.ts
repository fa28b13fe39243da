import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { cpus } from 'node:os';

const ticksPerSecond = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }));

/** Returns the fields of /proc/<pid>/stat from the third on: state, parent, and so forth. */
function statOf(pid: number): string[] {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The second field is the command in brackets and may have spaces: count fields after it.
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}

/** Returns the CPU time of a process so far in seconds: user and system, all threads. */
export function cpuSeconds(pid: number): number {
  const fields = statOf(pid);
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
}

/** Starts measuring the machine's CPUs; `stop` returns the share of their time, 0 to 1, that all processes used since. */
export function watchProcessors(): { stop(): number } {
  const sums = () => {
    let [busy, idle] = [0, 0];
    for (const { times } of cpus()) {
      busy += times.user + times.nice + times.sys + times.irq;
      idle += times.idle;
    }
    return { busy, idle };
  };
  const before = sums();
  return {
    stop() {
      const { busy, idle } = sums();
      return (busy - before.busy) / Math.max(1, busy - before.busy + idle - before.idle);
    },
  };
}

/** Returns the parent of a process. */
export function parentOf(pid: number): number {
  return Number(statOf(pid)[1]);
}

/** Returns the CPU time of a process and its children, including ended ones: of PostgreSQL, for example. */
export function cpuSecondsWithChildren(pid: number): number {
  const own = statOf(pid);
  const ownTicks = [11, 12, 13, 14].reduce((sum, index) => sum + Number(own[index]), 0);
  const ticksOfChild = (child: number) => [11, 12].reduce((sum, index) => sum + Number(statOf(child)[index]), 0);
  return (ownTicks + sumOfChildren(pid, ticksOfChild)) / ticksPerSecond;
}

/** Returns a sum over the running children of a process. */
function sumOfChildren(pid: number, of: (child: number) => number): number {
  let sum = 0;
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      if (parentOf(Number(name)) === pid) sum += of(Number(name));
    } catch (error) {
      if (!['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error; // it has ended meanwhile
    }
  }
  return sum;
}

/** Returns the resident memory of a process in MiB. */
export function residentMebibytes(pid: number): number {
  const mebibytes = residentOf(pid);
  if (mebibytes === undefined) throw new Error(`/proc/${pid}/status names no VmRSS: the process has ended`);
  return mebibytes;
}

/** Returns the resident memory of a process's children in MiB. */
export const childrensMebibytes = (pid: number): number => sumOfChildren(pid, (child) => residentOf(child) ?? 0);

/** Returns the memory of a process and its children in MiB, of what several processes share each its part. */
export function proportionalMebibytes(pid: number): number {
  return proportionOf(pid) + sumOfChildren(pid, proportionOf);
}

function proportionOf(pid: number): number {
  return Number(/^Pss:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1] ?? 0) / 1024;
}

function residentOf(pid: number): number | undefined {
  const kibibytes = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return kibibytes === undefined ? undefined : Number(kibibytes) / 1024;
}

/**
 * Samples a process's memory, or another value of `look`, every 100 ms until stopped or the process ends; `stop` returns the
 * maximum in MiB, and throws if the process has ended.
 */
export function watchMemory(pid: number, look: (pid: number) => number = residentMebibytes): { stop(): number } {
  let most = look(pid);
  const update = () => {
    most = Math.max(most, look(pid));
  };
  const timer = setInterval(() => {
    try {
      update();
    } catch {
      clearInterval(timer); // it has ended: `stop` throws
    }
  }, 100);
  return {
    stop() {
      clearInterval(timer);
      update();
      return most;
    },
  };
}

/** Waits until the processes together use less than a twentieth of a CPU, at most `timeoutMs`. */
export async function untilIdle(pids: readonly number[], timeoutMs: number): Promise<void> {
  const used = () => pids.reduce((sum, pid) => sum + cpuSeconds(pid), 0);
  const lookEveryMs = 400;
  const deadline = performance.now() + timeoutMs;
  for (let before = used(); performance.now() < deadline; ) {
    await new Promise((resolve) => setTimeout(resolve, lookEveryMs));
    const now = used();
    if (now - before < (lookEveryMs / 1_000) * 0.05) return;
    before = now;
  }
}
