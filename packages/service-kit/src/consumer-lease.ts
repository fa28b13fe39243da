import { randomUUID } from 'node:crypto';
import type { Bus, Consuming } from './bus.ts';
import type { Database } from './database.ts';
import type { Logger } from './logging.ts';
import { releaseReporter, takeReporter } from './queues/reporter.sql.ts';
import { WakeLoop } from './wake-loop.ts';

/** Time to acknowledge an event that is taken in order: whoever takes over from a process that died waits a little longer. */
export const inOrderAckMs = 5_000;
const renewEveryMs = 1_000;
/** By then everything that a process had pulled before it died has come again, and it comes before new events. */
const leaseMs = inOrderAckMs + 2 * renewEveryMs;
/** Time before the end of its lease at which a process stops pulling that could not renew it. */
const marginMs = 500;
/** Longest wait, at a stop, for the bus to know all that was acknowledged. */
const settleMs = 1_000;
const settleEveryMs = 20;

/** Dependencies of a lease. */
interface LeaseParts {
  sql: Database;
  bus: Bus;
  log: Logger;
  /** Called whenever this process gets or loses it. */
  changed(): void;
}

/**
 * Chooses, among the processes of a service, the one that takes a consumer's events: what several took at once would be taken in any order.
 * One that ends hands over at once, one that dies is followed by another after 7 s.
 */
export class ConsumerLease {
  readonly #parts: LeaseParts;
  readonly #name: string;
  readonly #topic: string;
  readonly #holder = randomUUID();
  readonly #loop: WakeLoop;
  #isHeld = false;
  #end: NodeJS.Timeout | undefined;

  constructor(name: string, parts: LeaseParts) {
    this.#parts = parts;
    this.#name = `consumer ${name}`;
    this.#topic = `lease-${name.replaceAll('.', '-')}`;
    const pace = { everyMs: renewEveryMs, slowestRetryMs: renewEveryMs, log: parts.log };
    this.#loop = new WakeLoop(this.#name, pace, () => this.#take());
    parts.bus.onPeers(this.#topic, () => this.#loop.wake());
  }

  /** True while this process is the one. */
  get isHeld(): boolean {
    return this.#isHeld;
  }

  /** Lets another process go on, once `consuming` has stopped: at once where all it pulled is acknowledged, else when it has come again. */
  async stop(consuming: Pick<Consuming, 'pending'>): Promise<void> {
    await this.#loop.stop();
    const wasHeld = this.#isHeld;
    this.#set(false);
    if (!wasHeld || !(await isSettled(consuming))) return;
    const { sql, bus } = this.#parts;
    await releaseReporter(sql, this.#name, this.#holder).then(
      () => bus.tell(this.#topic),
      () => undefined,
    );
  }

  async #take(): Promise<undefined> {
    const askedMs = performance.now();
    const isHeld = await takeReporter(this.#parts.sql, this.#name, this.#holder, leaseMs);
    clearTimeout(this.#end);
    if (isHeld) {
      const leftMs = askedMs + leaseMs - marginMs - performance.now();
      this.#end = setTimeout(() => this.#set(false), Math.max(0, leftMs));
    }
    this.#set(isHeld);
  }

  #set(isHeld: boolean): void {
    if (!isHeld) clearTimeout(this.#end);
    if (isHeld === this.#isHeld) return;
    this.#isHeld = isHeld;
    this.#parts.changed();
  }
}

/** Returns whether the bus has every acknowledgement of what a consumer was given. */
async function isSettled(consuming: Pick<Consuming, 'pending'>): Promise<boolean> {
  const untilMs = performance.now() + settleMs;
  do {
    const pending = await consuming.pending().catch(() => undefined);
    if (!pending) return false;
    if (pending.unacknowledged === 0) return true;
    await new Promise((resolve) => setTimeout(resolve, settleEveryMs));
  } while (performance.now() < untilMs);
  return false;
}
