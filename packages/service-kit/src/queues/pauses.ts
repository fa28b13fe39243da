import { isDeepStrictEqual } from 'node:util';
import type { Bus } from '../bus/bus.ts';
import type { Database } from '../database/database.ts';
import type { Logger } from '../telemetry/logging.ts';
import { coalesced } from '../timing/single-flight.ts';
import { WakeLoop } from '../timing/wake-loop.ts';
import { selectPauses } from './pauses.sql.ts';

/** Part of a queue that operators paused. */
export interface Paused {
  isWhole: boolean;
  accounts: readonly string[];
  endpoints: readonly string[];
}

export const nothingPaused: Paused = { isWhole: false, accounts: [], endpoints: [] };
/** Poll interval: finds what no news told of, since the bus was unavailable. */
const pollMs = 30_000;
const slowestRetryMs = 10_000;
const topic = 'queues';

/** The pauses of one service's queues, as every process of it knows them: from its table, read again whenever one changes. */
export class Pauses {
  readonly #sql: Database;
  readonly #bus: Bus;
  readonly #loop: WakeLoop;
  readonly #watchers = new Set<() => void>();
  #byQueue = new Map<string, Paused>();
  #hasNews = false;

  /** Reads them once; throws where the database is unavailable. */
  static async open(sql: Database, bus: Bus, log: Logger): Promise<Pauses> {
    const pauses = new Pauses(sql, bus, log);
    await pauses.refresh();
    return pauses;
  }

  private constructor(sql: Database, bus: Bus, log: Logger) {
    this.#sql = sql;
    this.#bus = bus;
    this.#loop = new WakeLoop('pauses', { everyMs: pollMs, slowestRetryMs, log }, () => this.#poll());
    bus.onPeers(topic, () => this.#hear());
  }

  /** Returns what of a queue is paused now. */
  of(queue: string): Paused {
    return this.#byQueue.get(queue) ?? nothingPaused;
  }

  /** Calls `hear` whenever an operator changed something of a queue; returns a function that ends it. */
  onChange(hear: () => void): () => void {
    this.#watchers.add(hear);
    return () => this.#watchers.delete(hear);
  }

  /** Tells every process of the service that an operator changed something: after the commit. */
  announce(): void {
    this.#hear();
    this.#bus.tell(topic);
  }

  /** Reads them again: as they are from then on, this process works. */
  async refresh(): Promise<void> {
    await this.#readNext();
  }

  #hear(): void {
    this.#hasNews = true;
    this.#loop.wake();
  }

  /** Reads them, and tells watchers where they changed, or where there was news: of what is tried again, for one. */
  async #poll(): Promise<false> {
    const hadNews = this.#hasNews;
    this.#hasNews = false;
    const hasChanged = await this.#readNext();
    if (hadNews && !hasChanged) this.#tellWatchers();
    return false;
  }

  #tellWatchers(): void {
    for (const hear of this.#watchers) hear();
  }

  /** One read at a time, so that none brings an older state back. Returns whether they changed. */
  readonly #readNext = coalesced(() => this.#read());

  async stop(): Promise<void> {
    await this.#loop.stop();
  }

  async #read(): Promise<boolean> {
    const byQueue = new Map<string, { isWhole: boolean; accounts: string[]; endpoints: string[] }>();
    for (const { queue, account, endpoint } of await selectPauses(this.#sql)) {
      const paused = byQueue.get(queue) ?? { isWhole: false, accounts: [], endpoints: [] };
      byQueue.set(queue, paused);
      if (endpoint) paused.endpoints.push(endpoint);
      else if (account) paused.accounts.push(account);
      else paused.isWhole = true;
    }
    const hasChanged = !isDeepStrictEqual(byQueue, this.#byQueue);
    this.#byQueue = byQueue;
    if (hasChanged) this.#tellWatchers();
    return hasChanged;
  }
}
