import type { ServerResponse } from 'node:http';
import { busy, FairPermits } from '../fairness/fair-permits.ts';
import { send } from '../http/responses.ts';
import { limitReached } from '../telemetry/limits.ts';

/** Bytes of large responses that wait to be sent at once; an owner alone may have half of them. */
const maxUnsentBytes = 134_217_728;
/** Bytes of the smallest response that counts: as many of these as a process takes requests at once are no more than that. */
const leastBytes = 65_536;

/**
 * Sends responses to reads, and bounds what waits of large ones: a client that reads slowly leaves nearly all of each in memory, and may ask for a
 * hundred. They are shared fairly.
 */
export class UnsentResponses {
  readonly #permits: FairPermits;

  constructor(bytes = maxUnsentBytes) {
    this.#permits = new FairPermits(bytes);
  }

  /** Sends JSON text. Throws 429 rate_limited where the owner's responses leave no room for it, 503 where others' do. */
  send(response: ServerResponse, status: number, body: string | null, owner: string): void {
    const bytes = body === null ? 0 : Buffer.byteLength(body);
    if (bytes >= leastBytes && !this.#permits.tryTakeUntilClosed(owner, bytes, response)) {
      limitReached('unsent_responses');
      throw busy(this.#permits.holds(owner), 'the service');
    }
    send(response, status, body);
  }
}
