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
  /** Deadline for one document once the process is ready for it. It covers the second attempt after a crash. Default: 30 s. */
  timeoutMs?: number;
  /** Deadline for a process to start and load a document's parser. Default: 30 s. */
  startMs?: number;
  /** Maximum resident memory of the process. Default: 250 MiB. */
  maxResidentBytes?: number;
  /** Program that a test runs under the same limits, instead of `extract-child.ts`. */
  program?: readonly string[];
}

/** Returns a document's bytes from the beginning. It is called again for a second attempt. */
export type DocumentBytes = () => AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

/** A document that exceeded the time or memory limit, or crashed the process that read it. */
export class LimitExceeded extends Unreadable {}

/** The process ended by itself while reading. The document is not necessarily the cause. */
class EndedUnexpectedly extends LimitExceeded {
  readonly afterMs: number;

  constructor(afterMs: number) {
    super('Reading it takes too much memory, or it is damaged');
    this.afterMs = afterMs;
  }
}

/** No process became ready for a document. The document is not the cause. */
export class NotStarted extends Error {}

/** Maximum attempts to start a process for a document. */
const maxStarts = 2;
const memoryCheckMs = 100;
/** Milliseconds after which an idle process is stopped. */
const idleMs = 3_000;
/** Share of the memory limit above which a process is not reused. Otherwise that memory would count against the next document. */
const reusableShare = 0.6;
/** Milliseconds of reading after which a process is replaced, well below its CPU limit. */
const maxUsedMs = 20_000;
const maxErrorLength = 300;

/** Stops at the first invalid piece. Listing every issue of a reply with millions of pieces would take minutes and gigabytes. */
const Pieces = z.custom<Piece[]>(
  (value) => Array.isArray(value) && value.length <= maxPieces && value.every((each: unknown) => isPiece(each)),
);
const Ready = z.object({ ready: z.literal(true) });
const Failure = z.object({ error: z.string().max(maxErrorLength) });

/**
 * Reads documents in a child process, one at a time. A hostile document can crash only that process, and the next document gets a new
 * one. `child-program.ts` and `lockdown.ts` define what the process may do. An idle process is stopped after 3 s.
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
   * Returns the pieces of a document. Callers make one call at a time. Throws Unreadable with a reason, NotStarted if no process starts,
   * the signal's reason once it is aborted, and any error of `document`.
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

  /** Kills the process. Callers must not call it while a document is being read. */
  close(): void {
    clearTimeout(this.#idle);
    this.#process?.kill();
    this.#process = undefined;
  }

  /** Asks again within the remaining time if the process crashed. After a second crash, the document is the cause. */
  async #ask(question: ChildQuestion, document: DocumentBytes, signal?: AbortSignal): Promise<unknown> {
    const { timeoutMs } = this.#options;
    try {
      return await this.#askOnce(question, document, timeoutMs, signal);
    } catch (error) {
      if (!(error instanceof EndedUnexpectedly)) throw error;
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
    const timer = setTimeout(() => reject(new LimitExceeded('Reading it took too long')), timeoutMs);
    const memoryCheck = setInterval(() => {
      if (running.residentBytes > maxResidentBytes) reject(new LimitExceeded('Reading it takes too much memory'));
    }, memoryCheckMs);
    const began = performance.now();
    let hasReplied = false;
    try {
      const reply = await replyTo(running, async () => sendDocument(running, document()), refused, signal);
      hasReplied = true;
      return reply;
    } catch (error) {
      throw error instanceof ProcessEnded ? new EndedUnexpectedly(performance.now() - began) : error;
    } finally {
      clearTimeout(timer);
      clearInterval(memoryCheck);
      running.usedMs += performance.now() - began;
      // A process that has not replied may still be parsing the document.
      const isReusable =
        hasReplied && running.usedMs < maxUsedMs && running.residentBytes <= maxResidentBytes * reusableShare;
      if (isReusable) this.#idle = setTimeout(() => this.close(), idleMs).unref();
      else this.close();
    }
  }

  /** Returns a process that is ready for the document: the running one or a new one. Throws NotStarted. */
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
        if (!Ready.safeParse(reply).success) throw new NotStarted('its first reply did not report that it is ready');
        return running;
      } catch (error) {
        this.close();
        const isOurs = error instanceof NotStarted || error instanceof ProcessEnded;
        if (!isOurs) throw error;
        if (attempt === maxStarts)
          throw new NotStarted(`could not start the process that reads documents: ${error.message}`, { cause: error });
      } finally {
        clearTimeout(timer);
      }
    }
  }
}

/** Calls `send` and returns the process's reply. Throws the rejection of `send` or `refused`, the signal's reason, or ProcessEnded. */
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

/** Sends a document part by part. It reads the next part only after it has written the previous one. */
async function sendDocument(running: ReadingProcess, bytes: ReturnType<DocumentBytes>): Promise<void> {
  for await (const part of bytes) {
    await running.send(part);
    if (running.hasEnded) return;
  }
  await running.sendEnd();
}

/** Returns a reply's value. Throws Unreadable with the reply's reason, or if a hijacked process sent a reply of the wrong shape. */
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
