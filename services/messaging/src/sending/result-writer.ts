import { isRefusedData, type Logger, WakeLoop } from '@customer-platform/service-kit';
import type { TryResult } from '../messages/message-state.ts';
import type { Claim } from './claims.sql.ts';

/** What a try came to. */
export interface EndedTry {
  claim: Claim;
  result: TryResult;
}

const maxBatch = 200;

/**
 * Writes what tries came to, all that ended since the last transaction in one. What cannot be written now is kept and written later; one
 * that the database will never take is logged and left to be found as lost, and keeps no other.
 */
export class ResultWriter {
  readonly #write: (ended: EndedTry[]) => Promise<void>;
  readonly #log: Logger;
  readonly #loop: WakeLoop;
  #waiting: EndedTry[] = [];

  constructor(write: (ended: EndedTry[]) => Promise<void>, log: Logger) {
    this.#write = write;
    this.#log = log;
    this.#loop = new WakeLoop('results', { everyMs: 60_000, slowestRetryMs: 2_000, log }, () => this.#writeAll());
  }

  /** How many wait to be written. */
  get waiting(): number {
    return this.#waiting.length;
  }

  add(ended: EndedTry): void {
    this.#waiting.push(ended);
    this.#loop.wake();
  }

  /** Writes what is left, as long as the database takes it. */
  async stop(): Promise<void> {
    await this.#loop.stop();
    await this.#writeAll();
  }

  async #writeAll(): Promise<undefined> {
    for (let most = maxBatch; this.#waiting.length > 0; ) {
      const batch = this.#waiting.slice(0, most);
      try {
        await this.#write(batch);
        this.#waiting = this.#waiting.slice(batch.length);
        most = maxBatch;
      } catch (error) {
        if (!isRefusedData(error)) throw error;
        if (batch.length > 1) most = Math.ceil(batch.length / 2);
        else {
          const [{ claim }] = batch as [EndedTry];
          this.#log.error({ err: error, message: claim.message_id }, 'what a try came to cannot be stored');
          this.#waiting = this.#waiting.slice(1);
        }
      }
    }
  }
}
