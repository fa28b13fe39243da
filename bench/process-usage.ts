import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { cpus } from 'node:os';

const ticksPerSecond = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }));

/** Fields of /proc/<pid>/stat from the third on: state, parent, and so forth. */
function statOf(pid: number): string[] {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The second field is the command in brackets and may hold blanks: fields are counted from behind it.
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}

/** Processor time that a process has used so far in seconds: user and system, all of its threads. */
export function cpuSeconds(pid: number): number {
  const fields = statOf(pid);
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
}

/** Begins to look at the machine's processors; `stop` returns the part of their time, 0 to 1, that was used since, by whomever. */
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

/** The process that started this one. */
export function parentOf(pid: number): number {
  return Number(statOf(pid)[1]);
}

/** Processor time of a process and of all that it started, those that have ended included: of PostgreSQL, for example. */
export function cpuSecondsWithChildren(pid: number): number {
  const own = statOf(pid);
  const ownTicks = [11, 12, 13, 14].reduce((sum, index) => sum + Number(own[index]), 0);
  const ticksOfChild = (child: number) => [11, 12].reduce((sum, index) => sum + Number(statOf(child)[index]), 0);
  return (ownTicks + sumOfChildren(pid, ticksOfChild)) / ticksPerSecond;
}

/** Adds something up over the processes that a process started and that have not ended. */
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

/** Memory of a process that is in RAM now, in MiB. */
export function residentMebibytes(pid: number): number {
  const mebibytes = residentOf(pid);
  if (mebibytes === undefined) throw new Error(`/proc/${pid}/status names no VmRSS: the process has ended`);
  return mebibytes;
}

/** Memory of all that a process started, in MiB. */
export const childrensMebibytes = (pid: number): number => sumOfChildren(pid, (child) => residentOf(child) ?? 0);

function residentOf(pid: number): number | undefined {
  const kibibytes = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return kibibytes === undefined ? undefined : Number(kibibytes) / 1024;
}

/**
 * Looks at a process's memory, or what else `look` tells of it, every 100 ms until stopped or the process ends; `stop` returns the
 * most it saw, in MiB, and throws where the process has ended.
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
      clearInterval(timer); // it has ended: stop says so
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

/** Waits until the processes together use less than a twentieth of a processor; gives up waiting after `timeoutMs`. */
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
