import { untilAborted } from '@customer-platform/service-kit';
import { z } from 'zod';
import type { ChildQuestion } from './extract.ts';
import { bytesOf, type Piece, refuseTooMuch, Unreadable } from './pieces.ts';
import { ProcessEnded, ReadingProcess } from './reading-process.ts';

export interface ExtractorOptions {
  /** For one document, from when the process is ready for it; 30 s where it is left out. */
  timeoutMs?: number;
  /** For a process to start, or to load what a document needs; 30 s where it is left out. */
  startMs?: number;
  /** What the process may hold at most, all in all. */
  maxResidentBytes?: number;
  /** What is run instead of our own program, under the same bounds: a test's. */
  program?: readonly string[];
}

/** The bytes of a document from its beginning, as often as they are asked for. */
export type DocumentBytes = () => AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

/** A document that took too long or too much memory, or ended the process that read it. */
export class Overtaxing extends Unreadable {}

/** A process that ended while it read, and not by us: the first time that may have been anybody. */
class Ended extends Overtaxing {}

/** No process became ready for a document: no fault of that document, nor of whoever wrote it. */
export class NotStarted extends Error {}

/** Attempts to start a process for a document. */
const maxStarts = 2;
const lookEveryMs = 100;
/** How long a process waits for the next document. */
const idleMs = 3_000;
/** One that holds more than this share of its bound when it has answered is not given another document, which would be blamed for it. */
const keptShare = 0.6;
/** One that has read for so long gives way to a new one, long before its processor time is over. */
const longestUseMs = 20_000;
const longestErrorLength = 300;

const Pieces = z.array(z.object({ heading_path: z.array(z.string()), text: z.string() }));
const Ready = z.object({ ready: z.literal(true) });
const Failure = z.object({ error: z.string().max(longestErrorLength) });

/**
 * Reads documents in a process of their own, one after the other: what a hostile one does ends that process, and the next document gets
 * a new one. What it may do is said in `child-program.ts` and `lockdown.ts`. It ends by itself when it has had nothing to do for a while.
 */
export class Extractor {
  readonly #options: Required<Omit<ExtractorOptions, 'program'>> & Pick<ExtractorOptions, 'program'>;
  #process: ReadingProcess | undefined;
  #idle: NodeJS.Timeout | undefined;

  constructor(options: ExtractorOptions = {}) {
    this.#options = { timeoutMs: 30_000, startMs: 30_000, maxResidentBytes: 250 * 1_048_576, ...options };
  }

  /** The process id of the child, where one runs. */
  get pid(): number | undefined {
    return this.#process?.hasEnded === false ? this.#process.pid : undefined;
  }

  /**
   * The pieces of a document; no other may be asked about meanwhile. Throws Unreadable, NotStarted where no process could be started, and
   * the signal's reason once that is aborted; what `document` throws goes through.
   */
  async read(
    question: Exclude<ChildQuestion, { type: 'robots' }>,
    document: DocumentBytes,
    signal?: AbortSignal,
  ): Promise<Piece[]> {
    const pieces = foundIn(await this.#ask(question, document, signal), Pieces);
    refuseTooMuch(
      pieces.length,
      pieces.reduce((sum, piece) => sum + bytesOf(piece), 0),
    );
    return pieces;
  }

  /** Whether a robots.txt lets us read a URL: its rules are somebody else's too. Throws as `read` does. */
  async allows(
    question: Omit<ChildQuestion & { type: 'robots' }, 'type'>,
    robots: Buffer,
    signal?: AbortSignal,
  ): Promise<boolean> {
    return foundIn(await this.#ask({ type: 'robots', ...question }, () => [robots], signal), z.boolean());
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
    const running = await this.#ready(question, signal);
    const { timeoutMs, maxResidentBytes } = this.#options;
    const { promise: refused, reject } = Promise.withResolvers<never>();
    const timer = setTimeout(() => reject(new Overtaxing('Reading it took too long')), timeoutMs);
    const look = setInterval(() => {
      if (running.residentBytes > maxResidentBytes) reject(new Overtaxing('Reading it takes too much memory'));
    }, lookEveryMs);
    const began = performance.now();
    let hasAnswered = false;
    try {
      const said = await untilAborted(signal, async () => {
        const answered = running.listen();
        await Promise.race([hand(running, document()), answered, refused]);
        return await Promise.race([answered, refused]);
      });
      hasAnswered = true;
      return said;
    } catch (error) {
      throw error instanceof ProcessEnded ? new Ended('Reading it takes too much memory, or it is damaged') : error;
    } finally {
      clearTimeout(timer);
      clearInterval(look);
      running.usedMs += performance.now() - began;
      // A child that has not answered is no good any more: it may still be at it.
      const isGood =
        hasAnswered && running.usedMs < longestUseMs && running.residentBytes <= maxResidentBytes * keptShare;
      if (isGood) this.#idle = setTimeout(() => this.#end(), idleMs).unref();
      else this.#end();
    }
  }

  /** Returns a process that is ready for the document of a question: the running one, else a new one. */
  async #ready(question: ChildQuestion, signal?: AbortSignal): Promise<ReadingProcess> {
    signal?.throwIfAborted();
    clearTimeout(this.#idle);
    for (let attempt = 1; ; attempt++) {
      if (this.#process?.hasEnded !== false) this.#process = new ReadingProcess(this.#options.program);
      const running = this.#process;
      const { promise: late, reject } = Promise.withResolvers<never>();
      const timer = setTimeout(() => reject(new NotStarted('it did not start in time')), this.#options.startMs);
      try {
        const said = await untilAborted(signal, async () => {
          const answered = running.listen();
          await Promise.race([running.hand(Buffer.from(JSON.stringify(question))), answered, late]);
          return await Promise.race([answered, late]);
        });
        if (!Ready.safeParse(said).success) throw new NotStarted('it says something else than that it is ready');
        return running;
      } catch (error) {
        this.#end();
        const isOurs = error instanceof NotStarted || error instanceof ProcessEnded;
        if (!isOurs) throw error;
        if (attempt === maxStarts)
          throw new NotStarted(`no process that reads documents could be started: ${error.message}`, { cause: error });
      } finally {
        clearTimeout(timer);
      }
    }
  }

  #end(): void {
    clearTimeout(this.#idle);
    this.#process?.kill();
    this.#process = undefined;
  }
}

/** Hands a document over; each part is asked for when the one before is gone. */
async function hand(running: ReadingProcess, bytes: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<void> {
  for await (const part of bytes) {
    await running.hand(part);
    if (running.hasEnded) return;
  }
  await running.handEnd();
}

/** What was found. Throws Unreadable with why nothing was; also where it is not what was asked for: then it is not our program that speaks. */
function foundIn<Value>(said: unknown, shape: z.ZodType<Value>): Value {
  const failure = Failure.safeParse(said).data;
  if (failure) throw new Unreadable(failure.error);
  const found = z.object({ value: shape }).safeParse(said).data;
  if (!found) throw new Unreadable('It may be damaged');
  return found.value;
}
