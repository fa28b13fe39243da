import {
  type DocumentBytes,
  type DocumentQuestion,
  Extractor,
  type ExtractorOptions,
  Overtaxing,
  type Piece,
  type RobotsQuestion,
} from '@customer-platform/documents';
import { type Share, Turns } from './turns.ts';

/** So many processes that read documents, shared document by document by all sources that are being read. */
export class Extractors {
  readonly #free: Extractor[];
  readonly #all: readonly Extractor[];
  readonly #turns: Turns;

  constructor(most: number, options: ExtractorOptions = {}) {
    this.#all = Array.from({ length: most }, () => new Extractor(options));
    this.#free = [...this.#all];
    this.#turns = new Turns(most);
  }

  /** What one source has of them, until `signal` is aborted. */
  shareOf(signal: AbortSignal): ExtractorShare {
    return new ExtractorShare(signal, this.#use);
  }

  /** Ends the processes, where nothing is being read any more. */
  close(): void {
    for (const extractor of this.#all) extractor.close();
  }

  readonly #use: UseExtractor = (share, signal, work) =>
    this.#turns.use(share, signal, async () => {
      // The last one given back: its process is the likeliest to run.
      const extractor = this.#free.pop()!;
      try {
        return await work(extractor);
      } finally {
        this.#free.push(extractor);
      }
    });
}

type UseExtractor = <Result>(
  share: Share,
  signal: AbortSignal,
  work: (extractor: Extractor) => Promise<Result>,
) => Promise<Result>;

/** Has documents of one source read, each in its turn. Throws as an Extractor does. */
export class ExtractorShare {
  readonly #share: Share = { usedMs: 0 };
  readonly #signal: AbortSignal;
  readonly #use: UseExtractor;
  #overtaxing = 0;

  constructor(signal: AbortSignal, use: UseExtractor) {
    this.#signal = signal;
    this.#use = use;
  }

  /** How many documents of this source were too much for an extractor so far. */
  get overtaxing(): number {
    return this.#overtaxing;
  }

  read(question: DocumentQuestion, document: DocumentBytes): Promise<Piece[]> {
    return this.#have((extractor) => extractor.read(question, document, this.#signal));
  }

  allows(question: RobotsQuestion, robots: Buffer): Promise<boolean> {
    return this.#have((extractor) => extractor.allows(question, robots, this.#signal));
  }

  async #have<Result>(work: (extractor: Extractor) => Promise<Result>): Promise<Result> {
    try {
      return await this.#use(this.#share, this.#signal, work);
    } catch (error) {
      if (error instanceof Overtaxing) this.#overtaxing++;
      throw error;
    }
  }
}
