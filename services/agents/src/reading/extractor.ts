import { type ChildProcess, fork } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { ChildQuestion } from './extract.ts';
import type { FromChild, ToChild } from './extract-child.ts';
import { type Piece, Unreadable } from './pieces.ts';

export interface ExtractorOptions {
  /** For a file; a web page gets `pageTimeoutMs`. Both include the start of the process. */
  fileTimeoutMs?: number;
  pageTimeoutMs?: number;
  /** What the process may hold at most, all in all. */
  maxResidentBytes?: number;
}

const childFile = fileURLToPath(new URL('./extract-child.ts', import.meta.url));
/** The folder that holds this project's code and packages: all that the child may read. */
const codeDirectory = fileURLToPath(new URL('../../../../', import.meta.url));
const maxHeapMegabytes = 128;
const lookEveryMs = 100;
/** Small enough that a file on its way to the child is never in this process whole. */
const chunkBytes = 1_048_576;

/**
 * Reads documents in a process of their own, one after the other: what a hostile one does ends that process, and the next document gets
 * a new one. It is given no environment, may write no file and start no process. `close` ends it.
 */
export class Extractor {
  readonly #options: Required<ExtractorOptions>;
  #child: ChildProcess | undefined;
  #last: Promise<unknown> = Promise.resolve();
  #isClosed = false;
  #stop: ((reason: Unreadable) => void) | undefined;

  constructor(options: ExtractorOptions = {}) {
    this.#options = { fileTimeoutMs: 30_000, pageTimeoutMs: 20_000, maxResidentBytes: 250 * 1_048_576, ...options };
  }

  /** The process id of the child, where one runs. */
  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** The pieces of a document. Throws Unreadable; what `bytes` throws goes through. */
  async read(
    question: Exclude<ChildQuestion, { type: 'robots' }>,
    bytes: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  ): Promise<Piece[]> {
    return (await this.#ask(question, bytes)) as Piece[];
  }

  /** Whether a robots.txt lets us read a URL: its rules are somebody else's too. */
  async allows(question: Omit<ChildQuestion & { type: 'robots' }, 'type'>, robots: Buffer): Promise<boolean> {
    return (await this.#ask({ type: 'robots', ...question }, [robots])) as boolean;
  }

  /** Ends the process; what is being read fails. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stop?.(new Unreadable('Reading was stopped'));
    this.#kill();
    await this.#last.catch(() => undefined);
  }

  #ask(question: ChildQuestion, bytes: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<unknown> {
    const answer = this.#last.catch(() => undefined).then(() => this.#askNow(question, bytes));
    this.#last = answer;
    return answer;
  }

  async #askNow(question: ChildQuestion, bytes: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<unknown> {
    if (this.#isClosed) throw new Unreadable('Reading was stopped');
    const { fileTimeoutMs, pageTimeoutMs, maxResidentBytes } = this.#options;
    const child = this.#child ?? startChild();
    if (child !== this.#child) child.once('exit', () => this.#forget(child));
    this.#child = child;
    const { promise: answered, resolve, reject } = Promise.withResolvers<unknown>();
    let hasAnswered = false;
    const onMessage = (answer: FromChild) => {
      hasAnswered = true;
      if ('error' in answer) reject(new Unreadable(answer.error));
      else resolve(answer.value);
    };
    const onEnd = () => reject(new Unreadable('It cannot be read: it takes too much memory, or is damaged'));
    child.on('message', onMessage).on('error', onEnd).once('exit', onEnd);
    this.#stop = reject;
    const isPage = question.type === 'html' || question.type === 'robots';
    const late = () => reject(new Unreadable('Reading it took too long'));
    const timer = setTimeout(late, isPage ? pageTimeoutMs : fileTimeoutMs);
    const look = setInterval(() => {
      if (residentBytes(child.pid) > maxResidentBytes) reject(new Unreadable('Reading it takes too much memory'));
    }, lookEveryMs);
    try {
      await Promise.race([hand(child, question, bytes), answered]);
      return await answered;
    } finally {
      clearTimeout(timer);
      clearInterval(look);
      child.off('message', onMessage).off('error', onEnd).off('exit', onEnd);
      this.#stop = undefined;
      // A child that has not answered is no good any more: it may still be at it.
      if (!hasAnswered) this.#kill();
    }
  }

  #forget(child: ChildProcess): void {
    if (this.#child === child) this.#child = undefined;
  }

  #kill(): void {
    this.#child?.kill('SIGKILL');
    this.#child = undefined;
  }
}

function startChild(): ChildProcess {
  const cache = process.env.NODE_COMPILE_CACHE;
  const permissions = ['--permission', `--allow-fs-read=${codeDirectory}`, '--allow-worker'];
  const child = fork(childFile, [], {
    env: cache ? { NODE_COMPILE_CACHE: cache } : {},
    execArgv: [
      `--max-old-space-size=${maxHeapMegabytes}`,
      // A parser's garbage is collected before it fills what the process may hold.
      '--max-semi-space-size=4',
      '--disable-warning=ExperimentalWarning',
      '--disable-warning=SecurityWarning',
      ...permissions,
      ...(cache ? [`--allow-fs-read=${cache}`, `--allow-fs-write=${cache}`] : []),
    ],
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  // One that cannot be killed any more, or handed anything, has ended.
  child.on('error', () => undefined);
  // A child that is not worth a process's life: nothing waits for it.
  child.unref();
  child.channel?.unref();
  return child;
}

/** Hands a document over in chunks, each when the one before is gone; the question comes last. */
async function hand(
  child: ChildProcess,
  question: ChildQuestion,
  bytes: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): Promise<void> {
  // A child that ended says so itself.
  const send = (message: ToChild) => new Promise<void>((resolve) => child.send(message, () => resolve()));
  for await (const part of bytes) {
    for (let at = 0; at < part.length; at += chunkBytes) await send({ chunk: part.subarray(at, at + chunkBytes) });
    if (!child.connected) return;
  }
  await send({ question });
}

/** What a process holds in memory, 0 where it cannot be told (it has ended; no Linux). */
function residentBytes(pid: number | undefined): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'latin1');
    return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1_024;
  } catch {
    return 0;
  }
}
