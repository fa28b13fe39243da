import { setTimeout as sleep } from 'node:timers/promises';
import type { Bus, Consuming } from '../bus/bus.ts';
import { type Database, inTransaction, type Sql } from '../database/database.ts';
import type { Logger } from '../telemetry/logging.ts';
import { WakeLoop } from '../timing/wake-loop.ts';

/** Bounds by which events that are taken in order are pulled: little time to acknowledge them, and requests that soon end. */
export const inOrderPulls = { ackMs: 5_000, requestMs: 2_000 };
/** Pause between two attempts to have the lock, and between two looks whether it is there yet. */
const everyMs = 1_000;
/**
 * Longest wait of whoever follows another process: what that one was given may come again as late, and so may what its last request is given
 * yet. All of it comes before new events then.
 */
const followMs = inOrderPulls.ackMs + inOrderPulls.requestMs;
const followLookMs = 200;
/** Time after which a process that the bus does not let pull leaves the lock to others, and for how long: until another has had its turn. */
const stuckMs = 10_000;
const leaveMs = 3 * everyMs;

/** Dependencies of a lease. */
interface LeaseParts {
  sql: Database;
  bus: Pick<Bus, 'isConnected' | 'onBack'>;
  log: Logger;
  consuming: Pick<Consuming, 'pending' | 'failingMs'>;
  /** Called whenever this process gets or loses it. */
  changed(): void;
}

/**
 * Chooses, among the processes of a service, the one that takes a consumer's events: what several took at once would be taken in any order. It is the
 * one with an advisory lock, which the database gives to another when its process ends or dies. That one begins once nothing can come again behind what
 * follows it: after the last acknowledgement, or 7 s. So does one whose connection to the bus broke.
 */
export class ConsumerLease {
  readonly #parts: LeaseParts;
  readonly #name: string;
  readonly #loop: WakeLoop;
  readonly #stopping = new AbortController();
  #isHeld = false;
  /** Until when what was given before may come again; undefined where this process has not yet begun to wait for it. */
  #followsAtMs: number | undefined;
  #leavesUntilMs = 0;

  constructor(name: string, parts: LeaseParts) {
    this.#parts = parts;
    this.#name = `consumer ${name}`;
    const pace = { everyMs, slowestRetryMs: everyMs, log: parts.log };
    this.#loop = new WakeLoop(this.#name, pace, () => this.#take());
    parts.bus.onBack(() => {
      // One that flaps would begin again each time, and never take anything.
      if (this.#isHeld) this.#followsAtMs = undefined;
      this.#set(false);
    });
  }

  /** True while this process is the one. */
  get isHeld(): boolean {
    return this.#isHeld;
  }

  /** Lets another process go on, once its consuming has stopped. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#loop.stop();
  }

  async #take(): Promise<undefined> {
    if (!this.#parts.bus.isConnected() || performance.now() < this.#leavesUntilMs) return;
    try {
      await inTransaction(this.#parts.sql, async (tx) => {
        const [row] = await tx<{ is_mine: boolean }[]>`
          select pg_try_advisory_xact_lock(hashtextextended(current_schema() || ${this.#name}::text, 0)) as is_mine`;
        if (row!.is_mine) await this.#hold(tx);
      });
    } finally {
      this.#followsAtMs = undefined;
      this.#set(false);
    }
  }

  /** Returns when the process stops, or has no connection to the bus or is not let pull; throws where the connection is lost, and the lock with it. */
  async #hold(tx: Sql): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      await tx`select`;
      const { bus, consuming } = this.#parts;
      if (consuming.failingMs() > stuckMs) this.#leavesUntilMs = performance.now() + leaveMs;
      if (!bus.isConnected() || this.#leavesUntilMs > performance.now()) return;
      this.#set(this.#isHeld || (await this.#mayFollow()));
      await sleep(this.#isHeld ? everyMs : followLookMs, undefined, { signal }).catch(() => undefined);
    }
  }

  /** Returns whether nothing that was given before can come behind what this process is given: as the bus says, or since it is so long ago. */
  async #mayFollow(): Promise<boolean> {
    this.#followsAtMs ??= performance.now() + followMs;
    const pending = await this.#parts.consuming.pending().catch(() => undefined);
    const isOver = pending?.unacknowledged === 0 && pending.requests === 0;
    return isOver || performance.now() >= this.#followsAtMs;
  }

  #set(isHeld: boolean): void {
    if (isHeld === this.#isHeld) return;
    this.#isHeld = isHeld;
    this.#parts.changed();
  }
}
