import type { ServerResponse } from 'node:http';
import { ApiError } from '@customer-platform/contracts/core';
import { serviceUnavailable } from '../database/database-errors.ts';
import { type LimitName, limitReached } from '../telemetry/limits.ts';

/**
 * A bounded number of permits (sockets, bytes, files) that owners share. An owner may hold at most `ratio` times the free permits, so that some
 * stay free for an owner without any. With ratio 1, one owner alone gets half, and two that alternate get a third each. Of 256 permits one is still
 * free after eight owners have taken all they may.
 */
export class FairPermits {
  readonly #ratio: number;
  readonly #held = new Map<string, number>();
  #free: number;

  constructor(total: number, ratio = 1) {
    this.#ratio = ratio;
    this.#free = total;
  }

  /** Takes `count` permits; returns false if the owner may not hold that many more now. */
  tryTake(owner: string, count = 1): boolean {
    const held = (this.#held.get(owner) ?? 0) + count;
    if (held > this.#free * this.#ratio) return false;
    this.#held.set(owner, held);
    this.#free -= count;
    return true;
  }

  /** Gives back `count` permits that the owner holds. */
  release(owner: string, count = 1): void {
    const left = (this.#held.get(owner) ?? 0) - count;
    if (left > 0) this.#held.set(owner, left);
    else this.#held.delete(owner);
    this.#free += count;
  }

  /** No owner holds a permit. */
  get isUnused(): boolean {
    return this.#held.size === 0;
  }

  /** Returns whether an owner holds any. */
  holds(owner: string): boolean {
    return this.#held.has(owner);
  }
}

/** The client disconnected before its response. */
export class ClientGone extends Error {
  constructor() {
    super('the client disconnected before its response');
  }
}

/** A queue for permits. A wait ends after `waitMs`, and owners share its places as fairly as the permits. */
export class PermitQueue {
  readonly #permits: FairPermits;
  readonly #places: FairPermits;
  readonly #waitMs: number;
  readonly #limit: LimitName | undefined;
  readonly #waiting = new Map<string, Set<() => void>>();

  /** @param limit the name under which refusals are counted */
  constructor(permits: FairPermits, places: number, waitMs: number, limit?: LimitName) {
    this.#permits = permits;
    this.#places = new FairPermits(places);
    this.#waitMs = waitMs;
    this.#limit = limit;
  }

  /** Runs `work` with a permit. Throws what `wait` throws, and ClientGone if the response has closed by then. */
  async use<Result>(
    owner: string,
    resource: string,
    work: () => Promise<Result>,
    response?: ServerResponse,
  ): Promise<Result> {
    if (!this.tryTake(owner)) await this.wait(owner, resource, response);
    try {
      if (response?.closed) throw new ClientGone();
      return await work();
    } finally {
      this.release(owner);
    }
  }

  /** Takes a permit if the owner may have one now. */
  tryTake(owner: string): boolean {
    return this.#permits.tryTake(owner);
  }

  /**
   * Waits for a permit that `tryTake` refused. Rejects with 429 or 503, naming `resource`, if the queue is full or the wait takes too long. Rejects
   * with ClientGone if the given response closes.
   */
  async wait(owner: string, resource: string, response?: ServerResponse): Promise<void> {
    if (!this.#places.tryTake(owner)) throw this.#refusal(owner, resource);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const queue = this.#waiting.get(owner) ?? new Set();
    this.#waiting.set(owner, queue.add(resolve));
    // A waiter that gave up leaves the queue at once, or it would get the next permit.
    const fail = (error: Error) => {
      queue.delete(resolve);
      if (queue.size === 0 && this.#waiting.get(owner) === queue) this.#waiting.delete(owner);
      reject(error);
    };
    const timer = setTimeout(() => fail(this.#refusal(owner, resource)), this.#waitMs);
    const leave = () => fail(new ClientGone());
    response?.once('close', leave);
    try {
      await promise;
    } finally {
      clearTimeout(timer);
      response?.off('close', leave);
      this.#places.release(owner);
    }
  }

  /** Returns a permit and grants it to a waiter that may hold it. Owners take turns; an owner's waiters stay in order. */
  release(owner: string): void {
    this.#permits.release(owner);
    if (this.#waiting.size === 0) return;
    for (const [next, queue] of [...this.#waiting]) {
      const [begin] = queue;
      if (begin === undefined || !this.#permits.tryTake(next)) continue;
      queue.delete(begin);
      this.#waiting.delete(next);
      if (queue.size > 0) this.#waiting.set(next, queue);
      begin();
    }
  }

  /** Returns the error for a request too many: 429 if the owner holds permits, 503 if only others do. */
  #refusal(owner: string, resource: string): ApiError {
    if (this.#limit) limitReached(this.#limit);
    return busy(this.#permits.holds(owner), resource);
  }
}

/** Returns the error for lack of room: 429 if the caller's own requests fill it, else 503, both with Retry-After. */
export function busy(isOwnLoad: boolean, resource: string): ApiError {
  if (!isOwnLoad) return serviceUnavailable(`${resource} is busy; try again shortly`);
  const message = `Too many of your requests are in progress: ${resource} is busy with them; try again shortly`;
  return new ApiError('rate_limited', message, { headers: { 'Retry-After': '1' } });
}

/** One account alone holds at most two thirds of the connections. Fewer concurrent commits would slow it down more than they help others. */
const connectionRatio = 2;
/** Maximum number of requests that wait for a connection. */
const maxWaiting = 1_000;
/** Time that a request waits for one of its account's connections. */
const waitMs = 15_000;
/** Time without the end of a statement after which PostgreSQL counts as not responding. It cancels a request's statement after 5 s. */
const silentMs = 5_500;

/** The database connections for a process's requests, by owner. An account's own requests wait for each other before others wait for them. */
export class Connections {
  /** Requests that the process works on, with or without a connection. */
  requestsUnderWay = 0;
  readonly #permits: PermitQueue;
  readonly #stalledMs: () => number;

  /**
   * @param size the number of connections in the pool
   * @param stalledMs returns for how long no statement has ended although some run
   */
  constructor(size: number, stalledMs: () => number) {
    this.#stalledMs = stalledMs;
    this.#permits = new PermitQueue(new FairPermits(size, connectionRatio), maxWaiting, waitMs, 'connections');
  }

  /**
   * Runs `work` with one of the owner's connections. Throws 429 or 503 if none is free in time, and only 503 while PostgreSQL does not respond, since
   * the owner did not cause that. Throws ClientGone if the client has disconnected.
   */
  async use<Result>(owner: string, response: ServerResponse | undefined, work: () => Promise<Result>): Promise<Result> {
    if (!this.#permits.tryTake(owner)) {
      this.#refuseIfSilent();
      await this.#permits.wait(owner, 'the database', response).catch((error: unknown) => {
        if (error instanceof ApiError) this.#refuseIfSilent();
        throw error;
      });
    }
    try {
      return await work();
    } finally {
      this.#permits.release(owner);
    }
  }

  #refuseIfSilent(): void {
    if (this.#stalledMs() > silentMs) throw serviceUnavailable('The database does not respond; try again shortly');
  }
}
