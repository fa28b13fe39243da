import { readdirSync, readFileSync } from 'node:fs';
import { type ProcessPlatform, waitFor } from '@customer-platform/testkit';

/** Kills a process and waits until it is up again. Returns a time between its end and the next process's start. */
export async function killAndSeeBack(platform: ProcessPlatform, name: string): Promise<Date> {
  const before = await waitFor(`${name} to run`, () => platform.pidOf(name));
  platform.kill(name);
  const killedAt = new Date();
  await waitFor(`${name} to be back`, () => ![undefined, before].includes(platform.pidOf(name)), 20_000);
  return killedAt;
}

/** Runs `work` while a process hangs: it neither responds nor exits. */
export async function whileHanging(platform: ProcessPlatform, name: string, work: () => Promise<void>): Promise<void> {
  const pid = await waitFor(`${name} to run`, () => platform.pidOf(name));
  process.kill(pid, 'SIGSTOP');
  try {
    await work();
  } finally {
    process.kill(pid, 'SIGCONT');
  }
}

/** Sends a signal to each process that still runs. */
export function signalAll(pids: readonly number[], signal: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, signal);
    } catch {
      // it has ended
    }
  }
}

/** Returns the processes that a process started. */
export function childrenOf(parent: number): number[] {
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      // State and parent follow the name in parentheses.
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8').split(') ').at(-1)!.split(' ');
      return Number(stat[1]) === parent ? [Number(name)] : [];
    } catch {
      return []; // it has ended
    }
  });
}
