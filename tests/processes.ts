import { readdirSync, readFileSync } from 'node:fs';

/** Sends a signal to each of the processes that is still there. */
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
      // After the name in parentheses: state and parent.
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8').split(') ').at(-1)!.split(' ');
      return Number(stat[1]) === parent ? [Number(name)] : [];
    } catch {
      return []; // it has ended
    }
  });
}
