import type { Bus } from '../bus/bus.ts';
import type { ConsumeLoop } from '../bus/consume-loop.ts';
import type { Database } from '../database/database.ts';
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
/** Time after which PostgreSQL ends the session of a process that says nothing: its machine may have vanished. */
const silentSessionMs = 15_000;

/** Dependencies of a lease. */
interface LeaseParts {
  /** A pool of one connection of its own, not a pooler's: the lock is that session's. */
  sql: Database;
  bus: Pick<Bus, 'isConnected' | 'onBack'>;
  log: Logger;
  consuming: Pick<ConsumeLoop, 'pending'>;
  /** Called whenever this process gets or loses it. */
  changed(): void;
}

/**
 * Chooses, among the processes of a service, the one that takes a consumer's events: what several took at once would be taken in any order. It is the
 * one whose session has an advisory lock, which the database gives to another when that ends, or was silent for 15 s. That one begins once nothing
 * can come again behind what follows it: after the last acknowledgement, or 7 s. So does one whose connection to the bus broke. No transaction is
 * open meanwhile: an index that is built concurrently would wait for its end.
 */
export class ConsumerLease {
  readonly #parts: LeaseParts;
  readonly #name: string;
  readonly #loop: WakeLoop;
  #isHeld = false;
  /** PostgreSQL's process that has the lock for this one; undefined where this one does not have it. */
  #lockedBy: number | undefined;
  /** Until when what was given before may come again; undefined where this process does not wait for it. */
  #followsAtMs: number | undefined;

  constructor(name: string, parts: LeaseParts) {
    this.#parts = parts;
    this.#name = `consumer ${name}`;
    const isFollowing = () => this.#followsAtMs !== undefined && !this.#isHeld;
    const pace = { everyMs: () => (isFollowing() ? followLookMs : everyMs), slowestRetryMs: everyMs, log: parts.log };
    this.#loop = new WakeLoop(this.#name, pace, () => this.#look());
    parts.bus.onBack(() => {
      this.#followsAtMs = undefined;
      this.#set(false);
    });
  }

  /** True while this process is the one. */
  get isHeld(): boolean {
    return this.#isHeld;
  }

  /** Lets another process go on, once its consuming has stopped: with the session that the lock is of, which its owner ends. */
  async stop(): Promise<void> {
    await this.#loop.stop();
    this.#set(false);
  }

  async #look(): Promise<undefined> {
    const before = this.#lockedBy;
    this.#lockedBy = undefined;
    try {
      this.#lockedBy = await this.#takeLock();
    } finally {
      // Between two sessions of its own another process may have had it.
      if (this.#lockedBy !== before) this.#followsAtMs = undefined;
      this.#set(this.#lockedBy !== undefined && this.#lockedBy === before && this.#isHeld);
    }
    if (this.#lockedBy !== undefined && !this.#isHeld && (await this.#mayFollow())) this.#set(true);
  }

  /** Returns what has the lock for this process, if it can have it: it is left to others without the bus. */
  async #takeLock(): Promise<number | undefined> {
    const { sql, bus } = this.#parts;
    if (!bus.isConnected()) {
      await sql`select pg_advisory_unlock_all()`;
      return undefined;
    }
    const [row] = await sql<{ is_mine: boolean; pid: number }[]>`
      select pg_try_advisory_lock(hashtextextended(current_schema() || ${this.#name}::text, 0)) as is_mine, pg_backend_pid() as pid,
        set_config('idle_session_timeout', ${String(silentSessionMs)}, false)`;
    return row!.is_mine ? row!.pid : undefined;
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
