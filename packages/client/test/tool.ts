import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitFor } from '@customer-platform/testkit';

/** A run of the command line in its own process. */
export interface ToolRun {
  /** Return the standard output and the standard error so far. */
  out(): string;
  err(): string;
  /** Waits until the output matches. */
  prints(pattern: RegExp): Promise<void>;
  /** Interrupts it like Ctrl-C. */
  interrupt(): void;
  /** Waits until it exits. `code` is null if a signal killed it. */
  end(): Promise<{ code: number | null; out: string; err: string }>;
}

/** The command line with its own settings folder, which `remove` deletes. */
export interface Tool {
  folder: string;
  start(args: readonly string[], options?: RunOptions): ToolRun;
  /** Runs it until it exits. */
  run(args: readonly string[], options?: RunOptions): ReturnType<ToolRun['end']>;
  remove(): void;
}

interface RunOptions {
  env?: Record<string, string>;
  input?: string;
  /** Milliseconds after which it is killed. Default: one minute. */
  deadlineMs?: number;
}

const main = join(import.meta.dirname, '../src/cli/main.ts');
const deadlineMs = 60_000;

/** Returns the command line without settings. `env` applies to all its runs. */
export function openTool(env: Record<string, string> = {}): Tool {
  const folder = mkdtempSync(join(tmpdir(), 'client-tool-'));
  const start: Tool['start'] = (args, options = {}) => {
    const child = spawn(process.execPath, [main, ...args], {
      env: { PATH: process.env.PATH, XDG_CONFIG_HOME: folder, ...env, ...options.env },
      timeout: options.deadlineMs ?? deadlineMs,
    });
    const texts = { out: '', err: '' };
    child.stdout.setEncoding('utf8').on('data', (text: string) => (texts.out += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (texts.err += text));
    child.stdin.end(options.input ?? '');
    const ended = new Promise<number | null>((resolve) => child.on('close', (code) => resolve(code)));
    return {
      out: () => texts.out,
      err: () => texts.err,
      async prints(pattern) {
        const has = () => pattern.test(texts.out) || pattern.test(texts.err);
        await waitFor(`${pattern} of ${args.join(' ')}`, () => has() || child.exitCode !== null, deadlineMs);
        if (!has()) throw new Error(`ended without ${pattern}: ${texts.out}${texts.err}`);
      },
      interrupt: () => void child.kill('SIGINT'),
      end: async () => ({ code: await ended, ...texts }),
    };
  };
  return {
    folder,
    start,
    run: (args, options) => start(args, options).end(),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
