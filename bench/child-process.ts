import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

/** Helper process of a bench, listening at `url`. */
export interface Child {
  url: string;
  pid: number;
  stop(): Promise<void>;
}

/** Starts a file of `children/` with Node; resolves when it has printed its URL. Throws if it exits before. */
export async function startChild(file: string, ...args: string[]): Promise<Child> {
  const child = spawn(process.execPath, [`${import.meta.dirname}/children/${file}`, ...args], {
    stdio: ['pipe', 'pipe', 'inherit'], // it exits when its standard input ends, so that it never outlives the bench
  });
  const ended = once(child, 'exit');
  const said = once(createInterface(child.stdout), 'line').then(([line]) => line as string);
  const url = await Promise.race([said, ended.then(() => undefined)]);
  if (url === undefined) throw new Error(`${file} ended before it listened`);
  return {
    url,
    pid: child.pid!,
    async stop() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}
