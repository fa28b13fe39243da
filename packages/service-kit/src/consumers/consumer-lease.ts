import type { Bus } from '../bus/bus.ts';
import type { ConsumeLoop } from '../bus/consume-loop.ts';
import type { Database } from '../database/database.ts';
import type { Logger } from '../telemetry/logging.ts';
import { WakeLoop } from '../timing/wake-loop.ts';

/** Limits for pulling events in order: a short time to acknowledge them, and requests that end soon. */
export const inOrderPulls = { ackMs: 5_000, requestMs: 2_000 };
/** Interval between checks of the lock and of earlier deliveries. */
const everyMs = 1_000;
/** Longest handover: by then everything delivered to the predecessor, or still delivered to its last request, has come again. */
const handoverMs = inOrderPulls.ackMs + inOrderPulls.requestMs;
/** Time after which PostgreSQL ends an idle session, since the machine of its process may have vanished. */
const silentSessionMs = 15_000;

/** Dependencies of a lease. */
interface LeaseParts {
  /** A pool of one direct connection, not through a pooler: its session holds the lock. */
  sql: Database;
  bus: Pick<Bus, 'isConnected' | 'onReconnect'>;
  log: Logger;
  consuming: Pick<ConsumeLoop, 'pending'>;
  /** Called whenever this process gets or loses the lease. */
  changed(): void;
}

/**
 * Chooses the one process of a service that takes a consumer's events, since several would take them out of order. The holder's session has an
 * advisory lock, which PostgreSQL frees when the session ends or is idle for 15 s. A new holder starts once no earlier delivery can come again:
 * after the last acknowledgement, or after 7 s. So does a holder that reconnects to the bus. No transaction stays open, since an index built
 * concurrently would wait for its end.
 */
export class ConsumerLease {
  readonly #parts: LeaseParts;
  readonly #name: string;
  readonly #loop: WakeLoop;
  /** True while this process may take events. */
  isHeld = false;
  /** The session with the lock, by its backend pid, and the latest end of its handover; undefined without the lock. */
  #session: { pid: number; handoverEndMs: number } | undefined;

  constructor(name: string, parts: LeaseParts) {
    this.#parts = parts;
    this.#name = `consumer ${name}`;
    const pace = { everyMs, slowestRetryMs: everyMs, log: parts.log };
    this.#loop = new WakeLoop(this.#name, pace, () => this.#look());
    parts.bus.onReconnect(() => this.#startHandover(undefined));
  }

  /** Gives up the lease once consuming has stopped. The owner then ends the session, which frees the lock. */
  async stop(): Promise<void> {
    await this.#loop.stop();
    this.#set(false);
  }

  async #look(): Promise<undefined> {
    const pid = await this.#takeLock().catch((error: unknown) => {
      this.#startHandover(undefined);
      throw error;
    });
    // Between two sessions of this process, another process may have had the lock.
    if (pid !== this.#session?.pid) this.#startHandover(pid);
    const session = this.#session;
    if (!session || this.isHeld || !(await this.#isHandedOver(session.handoverEndMs))) return;
    // The connection to the bus may have broken during the check.
    if (session === this.#session) this.#set(true);
  }

  /** Starts to wait for earlier deliveries, with the lock in the session `pid`; undefined: without the lock. */
  #startHandover(pid: number | undefined): void {
    this.#session = pid === undefined ? undefined : { pid, handoverEndMs: performance.now() + handoverMs };
    this.#set(false);
  }

  /** Returns the pid of the session with the lock; undefined if another process has it. Without the bus, frees the lock for others. */
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

  /** Returns whether no earlier delivery can come again: the bus says so, or the longest handover has passed. */
  async #isHandedOver(handoverEndMs: number): Promise<boolean> {
    const pending = await this.#parts.consuming.pending().catch(() => undefined);
    const isOver = pending?.unacknowledged === 0 && pending.requests === 0;
    return isOver || performance.now() >= handoverEndMs;
  }

  #set(isHeld: boolean): void {
    if (isHeld === this.isHeld) return;
    this.isHeld = isHeld;
    this.#parts.changed();
  }
}
