import type { ServerResponse } from 'node:http';
import { ApiError } from '@customer-platform/contracts/core';
import { LRUCache } from '@customer-platform/service-kit';
import { networkOf } from './client-address.ts';

/** From so many wrong tokens within the window each refusal takes a step longer, up to the longest. */
const patience = 5;
const windowMs = 60_000;
const stepMs = 250;
const longestMs = 2_000;
const maxAddresses = 10_000;
/** Refusals that wait at once; one more is refused without waiting, with 429. */
const maxWaiting = 100;

/** Slows down those who guess at the admin token; whoever has it never waits. */
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
   * Calls `refuse` once a 401 to an address may go out: at once, or up to 2 s later. Throws 429 where too many wait; what the client
   * no longer waits for is not called.
   */
  delay(address: string, response: ServerResponse, refuse: () => void): void {
    const steps = this.#recent(networkOf(address)).length - patience + 1;
    if (steps <= 0) {
      refuse();
      return;
    }
    if (this.#waiting >= maxWaiting) {
      const headers = { 'Retry-After': String(longestMs / 1_000) };
      throw new ApiError('rate_limited', 'Too many wrong admin tokens; try again in 2 s', { headers });
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
