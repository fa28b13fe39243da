import type { ServerResponse } from 'node:http';
import { LRUCache, limitReached } from '@customer-platform/service-kit';
import { networkOf } from '../http/client-address.ts';
import { rateLimited } from './rate-policy.ts';

/** Wrong tokens within the window from which each refusal takes a step longer, up to the longest. */
const patience = 5;
const windowMs = 60_000;
const stepMs = 250;
const longestMs = 2_000;
const maxAddresses = 10_000;
/** Most refusals that wait at once; one more gets 429 without waiting. */
const maxWaiting = 100;

/** Slows down guesses at the admin token; its holder never waits. */
export class WrongTokens {
  readonly #wrongAtMs = new LRUCache<string, number[]>({ max: maxAddresses });
  #waiting = 0;

  /** Counts a wrong token of an address. */
  count(address: string): void {
    const key = networkOf(address);
    const recent = [...this.#recent(key), performance.now()].slice(-patience - longestMs / stepMs);
    this.#wrongAtMs.set(key, recent);
  }

  /**
   * Calls `refuse` once a 401 to an address may be sent: at once, or up to 2 s later; never if the client has
   * disconnected. Throws 429 if too many wait.
   */
  delay(address: string, response: ServerResponse, refuse: () => void): void {
    const steps = this.#recent(networkOf(address)).length - patience + 1;
    if (steps <= 0) {
      refuse();
      return;
    }
    if (this.#waiting >= maxWaiting) {
      limitReached('admin_tokens');
      throw rateLimited(longestMs, (seconds) => `Too many wrong admin tokens; try again in ${seconds} s`);
    }
    this.#waiting++;
    const timer = setTimeout(refuse, Math.min(steps * stepMs, longestMs));
    response.once('close', () => {
      this.#waiting--;
      clearTimeout(timer);
    });
  }

  #recent(key: string): number[] {
    const sinceMs = performance.now() - windowMs;
    return this.#wrongAtMs.get(key)?.filter((atMs) => atMs > sinceMs) ?? [];
  }
}
