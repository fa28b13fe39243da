import { untilAborted } from '@customer-platform/service-kit';
import { z } from 'zod';
import type { ChildQuestion, DocumentQuestion } from './extract.ts';
import {
  bytesOf,
  maxHeadingLength,
  maxHeadings,
  maxPieceLength,
  maxPieces,
  type Piece,
  refuseTooMuch,
  Unreadable,
} from './pieces.ts';
import { ProcessEnded, ReadingProcess } from './reading-process.ts';
import type { RobotsQuestion } from './robots.ts';

export interface ExtractorOptions {
  /** Deadline for one document, from when the process is ready for it, with both attempts where the first crashes. Default: 30 s. */
  timeoutMs?: number;
  /** Deadline for a process to start, or to load a document's parser. Default: 30 s. */
  startMs?: number;
  /** Maximum resident memory of the process. Default: 250 MiB. */
  maxResidentBytes?: number;
  /** A test's program, run instead of ours under the same limits. */
  program?: readonly string[];
}

/** Returns a document's bytes from the beginning; called again when the document is read again. */
export type DocumentBytes = () => AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

/** Document that took too long or too much memory, or ended the process that read it. */
export class Overtaxing extends Unreadable {}

/** Process that ended while it read and was not ended by us: the document need not be the cause. */
class Ended extends Overtaxing {
  readonly afterMs: number;

  constructor(afterMs: number) {
    super('Reading it takes too much memory, or it is damaged');
    this.afterMs = afterMs;
  }
}

/** No process became ready for a document. The document is not the cause. */
export class NotStarted extends Error {}

/** Attempts to start a process for a document. */
const maxStarts = 2;
const memoryCheckMs = 100;
/** Milliseconds that an idle process waits for the next document. */
const idleMs = 3_000;
/** Share of its memory limit above which a process is not reused: the next document would be blamed for that memory. */
const reusableShare = 0.6;
/** Milliseconds of reading after which a process is replaced, long before its CPU limit. */
const maxUsedMs = 20_000;
const maxErrorLength = 300;

/** Looked at up to the first wrong piece: of a reply with millions, a list of all that is wrong would take minutes and gigabytes. */
const Pieces = z.custom<Piece[]>(
  (value) => Array.isArray(value) && value.length <= maxPieces && value.every((each: unknown) => isPiece(each)),
);
const Ready = z.object({ ready: z.literal(true) });
const Failure = z.object({ error: z.string().max(maxErrorLength) });

/**
 * Reads documents in a child process, one after the other. A hostile document can crash only that process, and the next document gets a
 * new one. `child-program.ts` and `lockdown.ts` define what the process may do. An idle process is stopped after three seconds.
 */
export class Extractor {
  readonly #options: Required<Omit<ExtractorOptions, 'program'>> & Pick<ExtractorOptions, 'program'>;
  #process: ReadingProcess | undefined;
  #idle: NodeJS.Timeout | undefined;

  constructor(options: ExtractorOptions = {}) {
    this.#options = { timeoutMs: 30_000, startMs: 30_000, maxResidentBytes: 250 * 1_048_576, ...options };
  }

  /** Process id of the running child, if any. */
  get pid(): number | undefined {
    return this.#process?.hasEnded === false ? this.#process.pid : undefined;
  }

  /**
   * Returns the pieces of a document. One call at a time. Throws Unreadable with a reason, NotStarted if no process could be started, the
   * signal's reason once it is aborted, and whatever `document` throws.
   */
  async read(question: DocumentQuestion, document: DocumentBytes, signal?: AbortSignal): Promise<Piece[]> {
    const pieces = foundIn(await this.#ask(question, document, signal), Pieces);
    refuseTooMuch(
      pieces.length,
      pieces.reduce((sum, piece) => sum + bytesOf(piece), 0),
    );
    return pieces;
  }

  /** Returns whether a robots.txt allows a URL. Throws as `read` does. */
  async allows(question: RobotsQuestion, robots: Buffer, signal?: AbortSignal): Promise<boolean> {
    return foundIn(await this.#ask({ type: 'robots', ...question }, () => [robots], signal), z.boolean());
  }

  /** Ends the process. Others must not call it while a document is read. */
  close(): void {
    clearTimeout(this.#idle);
    this.#process?.kill();
    this.#process = undefined;
  }

  /** Asks once more, for the rest of the time, if the process crashed; if it crashes again, the document is the cause. */
  async #ask(question: ChildQuestion, document: DocumentBytes, signal?: AbortSignal): Promise<unknown> {
    const { timeoutMs } = this.#options;
    try {
      return await this.#askOnce(question, document, timeoutMs, signal);
    } catch (error) {
      if (!(error instanceof Ended)) throw error;
      return await this.#askOnce(question, document, timeoutMs - error.afterMs, signal);
    }
  }

  async #askOnce(
    question: ChildQuestion,
    document: DocumentBytes,
    timeoutMs: number,
    signal?: AbortSignal,
  ): Promise<unknown> {
    const running = await this.#ready(question, signal);
    const { maxResidentBytes } = this.#options;
    const { promise: refused, reject } = Promise.withResolvers<never>();
    const timer = setTimeout(() => reject(new Overtaxing('Reading it took too long')), timeoutMs);
    const memoryCheck = setInterval(() => {
      if (running.residentBytes > maxResidentBytes) reject(new Overtaxing('Reading it takes too much memory'));
    }, memoryCheckMs);
    const began = performance.now();
    let hasReplied = false;
    try {
      const reply = await replyTo(running, async () => sendDocument(running, document()), refused, signal);
      hasReplied = true;
      return reply;
    } catch (error) {
      throw error instanceof ProcessEnded ? new Ended(performance.now() - began) : error;
    } finally {
      clearTimeout(timer);
      clearInterval(memoryCheck);
      running.usedMs += performance.now() - began;
      // A process that has not replied may still be working on the document.
      const isReusable =
        hasReplied && running.usedMs < maxUsedMs && running.residentBytes <= maxResidentBytes * reusableShare;
      if (isReusable) this.#idle = setTimeout(() => this.close(), idleMs).unref();
      else this.close();
    }
  }

  /** Returns a process that is ready for a question's document: the running one, or a new one. Throws NotStarted. */
  async #ready(question: ChildQuestion, signal?: AbortSignal): Promise<ReadingProcess> {
    signal?.throwIfAborted();
    clearTimeout(this.#idle);
    for (let attempt = 1; ; attempt++) {
      if (this.#process?.hasEnded !== false) this.#process = new ReadingProcess(this.#options.program);
      const running = this.#process;
      const { promise: late, reject } = Promise.withResolvers<never>();
      const timer = setTimeout(() => reject(new NotStarted('it did not start in time')), this.#options.startMs);
      try {
        const send = () => running.send(Buffer.from(JSON.stringify(question)));
        const reply = await replyTo(running, send, late, signal);
        if (!Ready.safeParse(reply).success) throw new NotStarted('it says something else than that it is ready');
        return running;
      } catch (error) {
        this.close();
        const isOurs = error instanceof NotStarted || error instanceof ProcessEnded;
        if (!isOurs) throw error;
        if (attempt === maxStarts)
          throw new NotStarted(`no process that reads documents could be started: ${error.message}`, { cause: error });
      } finally {
        clearTimeout(timer);
      }
    }
  }
}

/** Returns the reply to what `send` writes. Throws what `send` or `refused` rejects with, the signal's reason, or ProcessEnded. */
async function replyTo(
  running: ReadingProcess,
  send: () => Promise<void>,
  refused: Promise<never>,
  signal?: AbortSignal,
): Promise<unknown> {
  return await untilAborted(signal, async () => {
    const replied = running.nextReply();
    await Promise.race([send(), replied, refused]);
    return await Promise.race([replied, refused]);
  });
}

/** Sends a document part by part; the next part is read once the one before is written. */
async function sendDocument(running: ReadingProcess, bytes: ReturnType<DocumentBytes>): Promise<void> {
  for await (const part of bytes) {
    await running.send(part);
    if (running.hasEnded) return;
  }
  await running.sendEnd();
}

/** Returns a reply's value. Throws Unreadable with the reply's reason, or if its shape is wrong: a document has taken over the process. */
function foundIn<Value>(reply: unknown, shape: z.ZodType<Value>): Value {
  const failure = Failure.safeParse(reply).data;
  if (failure) throw new Unreadable(failure.error);
  const found = z.object({ value: shape }).safeParse(reply).data;
  if (!found) throw new Unreadable('It may be damaged');
  return found.value;
}

function isPiece(value: unknown): boolean {
  const { heading_path, text } = (value ?? {}) as Record<keyof Piece, unknown>;
  const isText = (one: unknown, most: number) => typeof one === 'string' && one.length <= most;
  return (
    isText(text, maxPieceLength) &&
    Array.isArray(heading_path) &&
    heading_path.length <= maxHeadings &&
    heading_path.every((each) => isText(each, maxHeadingLength))
  );
}
