import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';

const ticksPerSecond = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }));

/** Returns the CPU seconds used so far by processes and their children, including ended children such as PostgreSQL's. */
export function cpuSeconds(pids: readonly number[]): number {
  const ticks = withChildren(pids).map(({ fields, isChild }) => {
    const [user, system, ofEndedUser, ofEndedSystem] = fields.slice(11, 15).map(Number) as [
      number,
      number,
      number,
      number,
    ];
    return user + system + (isChild ? 0 : ofEndedUser + ofEndedSystem);
  });
  return sum(ticks) / ticksPerSecond;
}

/** Returns the proportional memory of processes and their children in MiB: shared memory is divided among the processes that share it. */
export function proportionalMebibytes(pids: readonly number[]): number {
  return sum(withChildren(pids).map(({ pid, isChild }) => mebibytesOf(pid, 'smaps_rollup', 'Pss', isChild)));
}

/** Starts measuring the peak resident memory of a process. The returned function returns it in MiB. */
export function watchMemory(pid: number): () => number {
  writeFileSync(`/proc/${pid}/clear_refs`, '5'); // resets VmHWM, see proc(5)
  return () => mebibytesOf(pid, 'status', 'VmHWM');
}

/** Starts measuring the machine's CPUs. The returned function returns the share of their time, 0 to 1, that was used since then. */
export function watchProcessors(): () => number {
  const times = () => {
    const all = cpus().map(({ times: { user, nice, sys, irq, idle } }) => ({ busy: user + nice + sys + irq, idle }));
    return { busy: sum(all.map(({ busy }) => busy)), idle: sum(all.map(({ idle }) => idle)) };
  };
  const before = times();
  return () => {
    const now = times();
    const busy = now.busy - before.busy;
    return busy / Math.max(1, busy + now.idle - before.idle);
  };
}

/** Waits until the processes together use less than a twentieth of one CPU, at most `timeoutMs`. */
export async function untilIdle(pids: readonly number[], timeoutMs: number): Promise<void> {
  const lookEveryMs = 400;
  const deadline = performance.now() + timeoutMs;
  for (let before = cpuSeconds(pids); performance.now() < deadline; ) {
    await sleep(lookEveryMs);
    const now = cpuSeconds(pids);
    if (now - before < (lookEveryMs / 1_000) * 0.05) return;
    before = now;
  }
}

export function sum(numbers: Iterable<number>): number {
  let all = 0;
  for (const one of numbers) all += one;
  return all;
}

/** Returns the given processes and their running children, with the fields of /proc/<pid>/stat from the third on: state, parent and so on. */
function withChildren(pids: readonly number[]): { pid: number; isChild: boolean; fields: string[] }[] {
  const running = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return running.flatMap((name) => {
    const pid = Number(name);
    const fields = statOf(pid);
    const isChild = !pids.includes(pid);
    return fields && (!isChild || pids.includes(Number(fields[1]))) ? [{ pid, isChild, fields }] : [];
  });
}

/** Returns undefined if the process has ended. */
function statOf(pid: number): string[] | undefined {
  const stat = unlessEnded(() => readFileSync(`/proc/${pid}/stat`, 'utf8'));
  // The second field is the command in parentheses and may contain spaces, so fields are counted after it.
  return stat?.slice(stat.lastIndexOf(')') + 2).split(' ');
}

/** Returns what `read` returns, or undefined if the process has ended. */
function unlessEnded<Read>(read: () => Read): Read | undefined {
  try {
    return read();
  } catch (error) {
    if (['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code!)) return undefined;
    throw error;
  }
}

/** Returns 0 for an ended process if `mayEnd`, as for PostgreSQL's processes; throws otherwise. */
function mebibytesOf(pid: number, file: 'smaps_rollup' | 'status', field: string, mayEnd = false): number {
  const text = unlessEnded(() => readFileSync(`/proc/${pid}/${file}`, 'utf8'));
  if (text === undefined && mayEnd) return 0;
  const kibibytes = new RegExp(`^${RegExp.escape(field)}:\\s+(\\d+) kB$`, 'm').exec(text ?? '')?.[1];
  if (kibibytes === undefined) throw new Error(`/proc/${pid}/${file} has no ${field}: the process has ended`);
  return Number(kibibytes) / 1024;
}
