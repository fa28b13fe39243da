import type { ServerResponse } from 'node:http';
import { ApiError } from '@customer-platform/contracts/core';
import { serviceUnavailable } from '../database/database-errors.ts';
import { type LimitName, limitReached } from '../telemetry/limits.ts';

/**
 * A bounded number of permits (sockets, bytes, files) that owners share. An owner may hold at most `ratio` times the
 * free permits, so that some are left for an owner that holds none: with ratio 1 one owner alone gets half, two that
 * alternate a third each; it takes eight that keep all they get to hold 256.
 */
export class FairPermits {
  readonly #ratio: number;
  readonly #held = new Map<string, number>();
  #free: number;

  constructor(total: number, ratio = 1) {
    this.#ratio = ratio;
    this.#free = total;
  }

  /** Takes `count` permits; returns false if they are more than the owner may hold now. */
  tryTake(owner: string, count = 1): boolean {
    const held = (this.#held.get(owner) ?? 0) + count;
    if (held > this.#free * this.#ratio) return false;
    this.#held.set(owner, held);
    this.#free -= count;
    return true;
  }

  /** Gives back `count` permits that the owner holds. */
  giveBack(owner: string, count = 1): void {
    const left = (this.#held.get(owner) ?? 0) - count;
    if (left > 0) this.#held.set(owner, left);
    else this.#held.delete(owner);
    this.#free += count;
  }

  /** Nobody holds any. */
  get isUnused(): boolean {
    return this.#held.size === 0;
  }

  /** Returns whether an owner holds any. */
  holds(owner: string): boolean {
    return this.#held.has(owner);
  }
}

/** The client disconnected: nobody waits for a response. */
export class ClientGone extends Error {
  constructor() {
    super('the client went away');
  }
}

/** A queue for permits: a wait ends after `waitMs`, and its places are shared as fairly as the permits. */
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

  /** Does `work` with a permit. Throws what `wait` throws, and ClientGone where the response is closed by then. */
  async use<Result>(
    owner: string,
    whatIsBusy: string,
    work: () => Promise<Result>,
    response?: ServerResponse,
  ): Promise<Result> {
    if (!this.tryTake(owner)) await this.wait(owner, whatIsBusy, response);
    try {
      if (response?.closed) throw new ClientGone();
      return await work();
    } finally {
      this.giveBack(owner);
    }
  }

  /** Takes a permit if the owner may have one now. */
  tryTake(owner: string): boolean {
    return this.#permits.tryTake(owner);
  }

  /**
   * Waits for a permit that `tryTake` refused. Rejects with 429 or 503, which name `whatIsBusy`, if the queue is full
   * or the wait too long, and with ClientGone if the response, where given, closes.
   */
  async wait(owner: string, whatIsBusy: string, response?: ServerResponse): Promise<void> {
    if (!this.#places.tryTake(owner)) throw this.#refusal(owner, whatIsBusy);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const queue = this.#waiting.get(owner) ?? new Set();
    this.#waiting.set(owner, queue.add(resolve));
    // A waiter that gave up leaves the queue at once, or the next permit would go to nobody.
    const fail = (error: Error) => {
      queue.delete(resolve);
      if (queue.size === 0 && this.#waiting.get(owner) === queue) this.#waiting.delete(owner);
      reject(error);
    };
    const timer = setTimeout(() => fail(this.#refusal(owner, whatIsBusy)), this.#waitMs);
    const leave = () => fail(new ClientGone());
    response?.once('close', leave);
    try {
      await promise;
    } finally {
      clearTimeout(timer);
      response?.off('close', leave);
      this.#places.giveBack(owner);
    }
  }

  /** Returns a permit, and grants it to a waiter that may have it: round-robin over owners, in order within one. */
  giveBack(owner: string): void {
    this.#permits.giveBack(owner);
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

  /** Returns the refusal of one more: 429 for an owner that holds others, 503 if other owners hold them. */
  #refusal(owner: string, whatIsBusy: string): ApiError {
    if (this.#limit) limitReached(this.#limit);
    return busy(this.#permits.holds(owner), whatIsBusy);
  }
}

/** Returns the refusal for lack of room: 429 if the caller's own requests fill it, else 503, both with Retry-After. */
export function busy(isOwnDoing: boolean, whatIsBusy: string): ApiError {
  if (!isOwnDoing) return serviceUnavailable(`${whatIsBusy} is busy; try again shortly`);
  const message = `Too many of your requests are in progress: ${whatIsBusy} is busy with them; try again shortly`;
  return new ApiError('rate_limited', message, { headers: { 'Retry-After': '1' } });
}

/** An account alone holds at most two thirds of the connections: few commits at once would slow it down more than it helps others. */
const connectionRatio = 2;
/** Most requests that wait for a connection. */
const maxWaiting = 1_000;
/** Time that a request waits for one of the connections that its account may have. */
const waitMs = 15_000;
/** Time without the end of a statement, however slow, by which PostgreSQL does not respond: it cuts one of a request off after 5 s. */
const silentMs = 5_500;

/** The database connections that requests, hooks and internal requests of a process work with, by owner: an account's own wait for each other before others wait for them. */
export class Connections {
  /** Requests that the process is working on, with a connection or without. */
  requestsUnderWay = 0;
  readonly #permits: PermitQueue;
  readonly #standsStillMs: () => number;

  /**
   * @param size the number of connections in the pool
   * @param standsStillMs returns for how long no statement has ended although some run
   */
  constructor(size: number, standsStillMs: () => number) {
    this.#standsStillMs = standsStillMs;
    this.#permits = new PermitQueue(new FairPermits(size, connectionRatio), maxWaiting, waitMs, 'connections');
  }

  /**
   * Does `work` with one of the connections that the owner may have. Throws 429 or 503 where none is free in time, 503 alone while PostgreSQL does not
   * respond, since that is not the owner's doing, and ClientGone where nobody waits for the response any more.
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
      this.#permits.giveBack(owner);
    }
  }

  #refuseIfSilent(): void {
    if (this.#standsStillMs() > silentMs) throw serviceUnavailable('The database does not respond; try again shortly');
  }
}
