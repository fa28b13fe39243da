import {
  type DocumentBytes,
  type DocumentQuestion,
  Extractor,
  type ExtractorOptions,
  Overtaxing,
  type Piece,
  type RobotsQuestion,
} from '@customer-platform/documents';
import { FairSemaphore, type Permits } from './fair-semaphore.ts';

/** An extractor that nobody uses, and whose documents its process has read. */
interface Free {
  extractor: Extractor;
  owner: string;
}

/**
 * A pool of processes that read documents, shared fairly, document by document, by all accounts. A process reads the documents of one account only: one
 * that a document took over learns nothing of another account's.
 */
export class Extractors {
  /** In the order in which they were released. */
  readonly #free: Free[];
  readonly #permits: FairSemaphore;

  constructor(permits: Permits, options: ExtractorOptions = {}) {
    this.#free = Array.from({ length: permits.most }, () => ({ extractor: new Extractor(options), owner: '' }));
    const isReady = (owner: string) =>
      this.#free.some((free) => free.owner === owner && free.extractor.pid !== undefined);
    this.#permits = new FairSemaphore(permits, { isReady });
  }

  /** Ends the processes. Nothing must be being read. */
  close(): void {
    for (const { extractor } of this.#free) extractor.close();
  }

  /** Runs `work` with an extractor once one is free. Throws as a FairSemaphore does. */
  use<Result>(owner: string, signal: AbortSignal, work: (extractor: Extractor) => Promise<Result>): Promise<Result> {
    return this.#permits.use(owner, signal, async () => {
      const extractor = this.#take(owner);
      try {
        return await work(extractor);
      } finally {
        this.#free.push({ extractor, owner });
      }
    });
  }

  /** Takes the owner's own that was released last, or else the one released first, whose process ends. */
  #take(owner: string): Extractor {
    const own = this.#free.findLastIndex((free) => free.owner === owner);
    const [{ extractor }] = this.#free.splice(Math.max(own, 0), 1) as [Free];
    if (own === -1) extractor.close();
    return extractor;
  }
}

/** Reads the documents of one source of an account, each with a permit, until `signal` is aborted. Throws as an Extractor does. */
export class SourceExtractor {
  readonly #extractors: Extractors;
  readonly #owner: string;
  readonly #signal: AbortSignal;
  /** Number of documents of this source that were too much for an extractor so far. */
  overtaxing = 0;

  constructor(extractors: Extractors, owner: string, signal: AbortSignal) {
    this.#extractors = extractors;
    this.#owner = owner;
    this.#signal = signal;
  }

  read(question: DocumentQuestion, document: DocumentBytes): Promise<Piece[]> {
    return this.#have((extractor) => extractor.read(question, document, this.#signal));
  }

  allows(question: RobotsQuestion, robots: Buffer): Promise<boolean> {
    return this.#have((extractor) => extractor.allows(question, robots, this.#signal));
  }

  async #have<Result>(work: (extractor: Extractor) => Promise<Result>): Promise<Result> {
    try {
      return await this.#extractors.use(this.#owner, this.#signal, work);
    } catch (error) {
      if (error instanceof Overtaxing) this.overtaxing++;
      throw error;
    }
  }
}
