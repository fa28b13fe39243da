import {
  type DocumentBytes,
  type DocumentQuestion,
  Extractor,
  type ExtractorOptions,
  LimitExceeded,
  type Piece,
  type RobotsQuestion,
} from '@customer-platform/documents';
import { FairSemaphore, type Permits } from './fair-semaphore.ts';

/** An idle extractor, and the owner whose documents its process has read. */
interface IdleExtractor {
  extractor: Extractor;
  owner: string;
}

/**
 * A pool of processes that read documents. All accounts share it fairly, one document at a time. A process reads documents of only one
 * account, so that a hijacked process cannot see another account's documents.
 */
export class Extractors {
  /** Idle extractors, in the order in which they were released. */
  readonly #free: IdleExtractor[];
  readonly #permits: FairSemaphore;

  constructor(permits: Permits, options: ExtractorOptions = {}) {
    this.#free = Array.from({ length: permits.most }, () => ({ extractor: new Extractor(options), owner: '' }));
    const isReady = (owner: string) =>
      this.#free.some((free) => free.owner === owner && free.extractor.pid !== undefined);
    this.#permits = new FairSemaphore(permits, { isReady });
  }

  /** Ends the processes. Callers must not call it while a document is being read. */
  close(): void {
    for (const { extractor } of this.#free) extractor.close();
  }

  /** Runs `work` with an extractor once one is free. Throws like FairSemaphore. */
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

  /** Takes the owner's most recently released extractor. Otherwise takes the least recently released one and ends its process. */
  #take(owner: string): Extractor {
    const own = this.#free.findLastIndex((free) => free.owner === owner);
    const [{ extractor }] = this.#free.splice(Math.max(own, 0), 1) as [IdleExtractor];
    if (own === -1) extractor.close();
    return extractor;
  }
}

/** Reads the documents of one source, each with a permit, until `signal` is aborted. Throws like Extractor. */
export class SourceExtractor {
  readonly #extractors: Extractors;
  readonly #owner: string;
  readonly #signal: AbortSignal;
  /** Number of documents of this source that exceeded a limit so far. */
  overLimit = 0;

  constructor(extractors: Extractors, owner: string, signal: AbortSignal) {
    this.#extractors = extractors;
    this.#owner = owner;
    this.#signal = signal;
  }

  read(question: DocumentQuestion, document: DocumentBytes): Promise<Piece[]> {
    return this.#use((extractor) => extractor.read(question, document, this.#signal));
  }

  allows(question: RobotsQuestion, robots: Buffer): Promise<boolean> {
    return this.#use((extractor) => extractor.allows(question, robots, this.#signal));
  }

  async #use<Result>(work: (extractor: Extractor) => Promise<Result>): Promise<Result> {
    try {
      return await this.#extractors.use(this.#owner, this.#signal, work);
    } catch (error) {
      if (error instanceof LimitExceeded) this.overLimit++;
      throw error;
    }
  }
}
