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

/** A pool of processes that read documents, shared fairly, document by document, by all accounts. */
export class Extractors {
  readonly #free: Extractor[];
  readonly #all: readonly Extractor[];
  readonly #permits: FairSemaphore;

  constructor(permits: Permits, options: ExtractorOptions = {}) {
    this.#all = Array.from({ length: permits.most }, () => new Extractor(options));
    this.#free = [...this.#all];
    this.#permits = new FairSemaphore(permits);
  }

  /** Ends the processes. Nothing must be being read. */
  close(): void {
    for (const extractor of this.#all) extractor.close();
  }

  /** Runs `work` with an extractor once one is free. Throws as a FairSemaphore does. */
  use<Result>(owner: string, signal: AbortSignal, work: (extractor: Extractor) => Promise<Result>): Promise<Result> {
    return this.#permits.use(owner, signal, async () => {
      // The one released last: its process is the likeliest to be running.
      const extractor = this.#free.pop()!;
      try {
        return await work(extractor);
      } finally {
        this.#free.push(extractor);
      }
    });
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
