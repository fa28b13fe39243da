import type { Bus } from '../bus/bus.ts';
import type { ConsumeLoop } from '../bus/consume-loop.ts';
import type { Database } from '../database/database.ts';
import type { Logger } from '../telemetry/logging.ts';
import { WakeLoop } from '../timing/wake-loop.ts';

/** Bounds by which events that are taken in order are pulled: little time to acknowledge them, and requests that soon end. */
export const inOrderPulls = { ackMs: 5_000, requestMs: 2_000 };
/** Pause between two looks whether this process has the lock, and whether what was given before is over. */
const everyMs = 1_000;
/** Longest wait of a successor: all that its predecessor was given, or that its last request may still be given, comes again before. */
const followMs = inOrderPulls.ackMs + inOrderPulls.requestMs;
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
  /** True while this process is the one. */
  isHeld = false;
  /** The session with the lock, by PostgreSQL's process, and when nothing that was given before it can come again; undefined without the lock. */
  #session: { pid: number; followsAtMs: number } | undefined;

  constructor(name: string, parts: LeaseParts) {
    this.#parts = parts;
    this.#name = `consumer ${name}`;
    const pace = { everyMs, slowestRetryMs: everyMs, log: parts.log };
    this.#loop = new WakeLoop(this.#name, pace, () => this.#look());
    parts.bus.onBack(() => this.#follow(undefined));
  }

  /** Lets another process go on, once its consuming has stopped: with the session that the lock is of, which its owner ends. */
  async stop(): Promise<void> {
    await this.#loop.stop();
    this.#set(false);
  }

  async #look(): Promise<undefined> {
    const pid = await this.#takeLock().catch((error: unknown) => {
      this.#follow(undefined);
      throw error;
    });
    // Between two sessions of its own another process may have had it.
    if (pid !== this.#session?.pid) this.#follow(pid);
    const session = this.#session;
    if (!session || this.isHeld || !(await this.#mayFollow(session.followsAtMs))) return;
    // The connection to the bus may have broken meanwhile.
    if (session === this.#session) this.#set(true);
  }

  /** Begins to wait for what was given before this process had the lock in the session `pid`. */
  #follow(pid: number | undefined): void {
    this.#session = pid === undefined ? undefined : { pid, followsAtMs: performance.now() + followMs };
    this.#set(false);
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
  async #mayFollow(followsAtMs: number): Promise<boolean> {
    const pending = await this.#parts.consuming.pending().catch(() => undefined);
    const isOver = pending?.unacknowledged === 0 && pending.requests === 0;
    return isOver || performance.now() >= followsAtMs;
  }

  #set(isHeld: boolean): void {
    if (isHeld === this.isHeld) return;
    this.isHeld = isHeld;
    this.#parts.changed();
  }
}
