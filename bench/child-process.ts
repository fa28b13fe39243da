import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

/** A helper process of a bench: it listens at `url`. */
export interface Child {
  url: string;
  pid: number;
  stop(): Promise<void>;
}

/** Starts a file of `children/` with Node; resolves when it has said its URL on standard output. Throws where it ends before. */
export async function startChild(file: string, ...args: string[]): Promise<Child> {
  const child = spawn(process.execPath, [`${import.meta.dirname}/children/${file}`, ...args], {
    stdio: ['pipe', 'pipe', 'inherit'], // it ends when its standard input does, so that it never outlives the bench
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
