import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

const ticksPerSecond = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }));

/** What /proc/<pid>/stat says from the third field on: state, parent, and so forth. */
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

/** The process that started this one. */
export function parentOf(pid: number): number {
  return Number(statOf(pid)[1]);
}

/** Processor time of a process and of all that it started, those that have ended included: of PostgreSQL, for example. */
export function cpuSecondsWithChildren(pid: number): number {
  let ticks = 0;
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const fields = statOf(Number(name));
      if (Number(name) === pid) ticks += [11, 12, 13, 14].reduce((sum, index) => sum + Number(fields[index]), 0);
      else if (Number(fields[1]) === pid) ticks += Number(fields[11]) + Number(fields[12]);
    } catch (error) {
      if (!['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error; // it has ended meanwhile
    }
  }
  return ticks / ticksPerSecond;
}

/** Memory of a process that is in RAM now, in MiB. */
export function residentMebibytes(pid: number): number {
  const kibibytes = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  if (kibibytes === undefined) throw new Error(`/proc/${pid}/status names no VmRSS: the process has ended`);
  return Number(kibibytes) / 1024;
}

/**
 * Looks at a process's memory every 100 ms until stopped or the process ends; `stop` answers the most it saw, in MiB, and throws
 * where the process has ended.
 */
export function watchMemory(pid: number): { stop(): number } {
  let most = residentMebibytes(pid);
  const look = () => {
    most = Math.max(most, residentMebibytes(pid));
  };
  const timer = setInterval(() => {
    try {
      look();
    } catch {
      clearInterval(timer); // it has ended: stop says so
    }
  }, 100);
  return {
    stop() {
      clearInterval(timer);
      look();
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
