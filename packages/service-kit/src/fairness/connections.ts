import type { ServerResponse } from 'node:http';
import { ApiError } from '@customer-platform/contracts/core';
import { serviceUnavailable } from '../database/database-errors.ts';
import { FairPermits, PermitQueue } from './fair-permits.ts';

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
