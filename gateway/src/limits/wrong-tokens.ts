import type { ServerResponse } from 'node:http';
import type { ApiError } from '@customer-platform/contracts/core';
import { LRUCache, limitReached } from '@customer-platform/service-kit';
import { networkOf } from '../http/request-head.ts';
import { rateLimited } from './rate-limiter.ts';

/** Wrong tokens within the window from which each refusal is delayed by another step, up to the maximum. */
const patience = 5;
const windowMs = 60_000;
const stepMs = 250;
const longestMs = 2_000;
const maxAddresses = 10_000;
/** Maximum refusals that wait at once. Further ones get 429 without waiting. */
const maxWaiting = 100;

/** Slows down guesses of a control plane token. A request with a valid token never waits. */
export class WrongTokens {
  readonly #wrongAtMs = new LRUCache<string, number[]>({ max: maxAddresses });
  #waiting = 0;

  /**
   * Calls `send` once the 401 to an address may be sent: at once, or up to 2 s later. Does not call it if the client
   * disconnects. Counts wrong tokens but not missing ones. Throws 429 if too many refusals wait.
   */
  refuse(address: string, { code }: ApiError, response: ServerResponse, send: () => void): void {
    const sinceMs = performance.now() - windowMs;
    const network = networkOf(address);
    const recent = this.#wrongAtMs.get(network)?.filter((atMs) => atMs > sinceMs) ?? [];
    if (code === 'invalid_key') {
      recent.push(performance.now());
      this.#wrongAtMs.set(network, recent.slice(-patience - longestMs / stepMs));
    }
    const steps = recent.length - patience + 1;
    if (steps <= 0) {
      send();
      return;
    }
    if (this.#waiting >= maxWaiting) {
      limitReached('admin_tokens');
      throw rateLimited(longestMs, (seconds) => `Too many wrong admin tokens; try again in ${seconds} s`);
    }
    this.#waiting++;
    const timer = setTimeout(send, Math.min(steps * stepMs, longestMs));
    response.once('close', () => {
      this.#waiting--;
      clearTimeout(timer);
    });
  }
}
