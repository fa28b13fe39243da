import { type ChildProcess, fork } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { ChildQuestion } from './extract.ts';
import type { FromChild, ToChild } from './extract-child.ts';
import { type Piece, Unreadable } from './pieces.ts';

export interface ExtractorOptions {
  /** For one document, the start of the process included; 30 s where it is left out. */
  timeoutMs?: number;
  /** What the process may hold at most, all in all. */
  maxResidentBytes?: number;
}

/** The bytes of a document from its beginning, as often as they are asked for. */
export type DocumentBytes = () => AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

/** A document that took too long or too much memory, or ended the process that read it. */
export class Overtaxing extends Unreadable {}

/** A process that ended while it read, and not by us: the first time that may have been anybody. */
class Ended extends Overtaxing {}

const childFile = fileURLToPath(new URL('./extract-child.ts', import.meta.url));
/** The folder that holds this project's code and packages: all that the child may read. */
const codeDirectory = fileURLToPath(new URL('../../../../', import.meta.url));
const maxHeapMegabytes = 128;
const lookEveryMs = 100;
/** How long a process waits for the next document. */
const idleMs = 3_000;
/** One that holds more than this share of its bound when it has answered is not given another document, which would be blamed for it. */
const keptShare = 0.6;
/** Small enough that a file on its way to the child is never in this process whole. */
const chunkBytes = 1_048_576;

/**
 * Reads documents in a process of their own, one after the other: what a hostile one does ends that process, and the next document gets
 * a new one. It is given no environment, may write no file and start no process. It ends by itself when it has had nothing to do for a while.
 */
export class Extractor {
  readonly #options: Required<ExtractorOptions>;
  #child: ChildProcess | undefined;
  #idle: NodeJS.Timeout | undefined;

  constructor(options: ExtractorOptions = {}) {
    this.#options = { timeoutMs: 30_000, maxResidentBytes: 250 * 1_048_576, ...options };
  }

  /** The process id of the child, where one runs. */
  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /**
   * The pieces of a document; no other may be asked about meanwhile. Throws Unreadable, and the signal's reason once that is aborted; what
   * `document` throws goes through.
   */
  async read(
    question: Exclude<ChildQuestion, { type: 'robots' }>,
    document: DocumentBytes,
    signal?: AbortSignal,
  ): Promise<Piece[]> {
    return (await this.#ask(question, document, signal)) as Piece[];
  }

  /** Whether a robots.txt lets us read a URL: its rules are somebody else's too. */
  async allows(
    question: Omit<ChildQuestion & { type: 'robots' }, 'type'>,
    robots: Buffer,
    signal?: AbortSignal,
  ): Promise<boolean> {
    return (await this.#ask({ type: 'robots', ...question }, () => [robots], signal)) as boolean;
  }

  /** Ends the process, where nothing is being read. */
  close(): void {
    this.#end();
  }

  /** Asks once more where the process ended by itself or by others, who have no more to do with the document than we: then it is its fault. */
  async #ask(question: ChildQuestion, document: DocumentBytes, signal?: AbortSignal): Promise<unknown> {
    try {
      return await this.#askOnce(question, document, signal);
    } catch (error) {
      if (!(error instanceof Ended)) throw error;
      return await this.#askOnce(question, document, signal);
    }
  }

  async #askOnce(question: ChildQuestion, document: DocumentBytes, signal?: AbortSignal): Promise<unknown> {
    signal?.throwIfAborted();
    clearTimeout(this.#idle);
    const { timeoutMs, maxResidentBytes } = this.#options;
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
    const onEnd = () => reject(new Ended('Reading it takes too much memory, or it is damaged'));
    child.on('message', onMessage).on('error', onEnd).once('exit', onEnd);
    const onAbort = () => reject(signal!.reason as Error);
    signal?.addEventListener('abort', onAbort);
    const timer = setTimeout(() => reject(new Overtaxing('Reading it took too long')), timeoutMs);
    const look = setInterval(() => {
      if (residentBytes(child.pid) > maxResidentBytes) reject(new Overtaxing('Reading it takes too much memory'));
    }, lookEveryMs);
    try {
      await Promise.race([hand(child, question, document()), answered]);
      return await answered;
    } finally {
      clearTimeout(timer);
      clearInterval(look);
      child.off('message', onMessage).off('error', onEnd).off('exit', onEnd);
      signal?.removeEventListener('abort', onAbort);
      // A child that has not answered is no good any more: it may still be at it.
      const isGood = hasAnswered && residentBytes(child.pid) <= maxResidentBytes * keptShare;
      if (isGood) this.#idle = setTimeout(() => this.#end(), idleMs).unref();
      else this.#end();
    }
  }

  #forget(child: ChildProcess): void {
    if (this.#child === child) this.#child = undefined;
  }

  #end(): void {
    clearTimeout(this.#idle);
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
