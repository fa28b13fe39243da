import { randomUUID } from 'node:crypto';
import type { Bus, Consuming } from '../bus/bus.ts';
import type { Database } from '../database/database.ts';
import { releaseReporter, takeLease } from '../queues/reporter.sql.ts';
import type { Logger } from '../telemetry/logging.ts';
import { WakeLoop } from '../timing/wake-loop.ts';

/** Bounds by which events that are taken in order are pulled: little time to acknowledge them, and requests that soon end. */
export const inOrderPulls = { ackMs: 5_000, requestMs: 2_000 };
const renewEveryMs = 1_000;
const leaseMs = 5_000;
/** Time before the end of its lease at which a process stops pulling that could not renew it. */
const marginMs = 500;
/**
 * Longest wait of whoever follows a process that released nothing: what that one was given may come again as late, and so may what its last
 * request is given yet. All of it comes before new events then.
 */
const followMs = inOrderPulls.ackMs + inOrderPulls.requestMs;
const followLookMs = 200;
/** Time after which a process that the bus does not let pull leaves the lease to others, and for how long: until another has had its turn. */
const stuckMs = 10_000;
const leaveMs = leaseMs + 2 * renewEveryMs;

/** Longest wait, at a stop, for the bus to know all that was acknowledged. */
const settleMs = 1_000;
const settleEveryMs = 20;

/** Dependencies of a lease. */
interface LeaseParts {
  sql: Database;
  bus: Pick<Bus, 'isConnected' | 'onBack' | 'onPeers' | 'tell'>;
  log: Logger;
  consuming: Pick<Consuming, 'pending' | 'failingMs'>;
  /** Called whenever this process gets or loses it. */
  changed(): void;
}

/**
 * Chooses, among the processes of a service, the one that takes a consumer's events: what several took at once would be taken in any order.
 * One that ends hands over at once. One that dies is followed by another after 5 s, or up to 12 s where it was given what it did not take: that
 * must come again before what follows it. So is one that the bus does not let pull. One whose connection broke follows itself: what was on its
 * way then comes again as well.
 */
export class ConsumerLease {
  readonly #parts: LeaseParts;
  readonly #name: string;
  readonly #topic: string;
  readonly #holder = randomUUID();
  readonly #loop: WakeLoop;
  #isHeld = false;
  /** A reply has said that it has the lease, and since then its connection to the bus has not broken. */
  #isKnown = false;
  /**
   * It, or one that it does not know of, may have pulled since it last began to follow. Without that a connection that breaks again changes nothing:
   * one that flaps would begin again each time, and keep the lease without ever taking anything.
   */
  #mayHavePulled = true;
  /** Until when it leaves the lease to others. */
  #leavesUntilMs = 0;
  #end: NodeJS.Timeout | undefined;
  /** Until when the process before may have been given events that have not come again. */
  #followsAtMs = 0;
  #again: NodeJS.Timeout | undefined;

  constructor(name: string, parts: LeaseParts) {
    this.#parts = parts;
    this.#name = `consumer ${name}`;
    this.#topic = `lease-${name.replaceAll('.', '-')}`;
    const pace = { everyMs: renewEveryMs, slowestRetryMs: renewEveryMs, log: parts.log };
    this.#loop = new WakeLoop(this.#name, pace, () => this.#take());
    parts.bus.onBack(() => {
      this.#isKnown = false;
      this.#set(false);
    });
    parts.bus.onPeers(this.#topic, () => this.#loop.wake());
  }

  /** True while this process is the one. */
  get isHeld(): boolean {
    return this.#isHeld;
  }

  /** Lets another process go on, once its consuming has stopped: at once where all it pulled is acknowledged, else when it has come again. */
  async stop(): Promise<void> {
    await this.#loop.stop();
    clearTimeout(this.#again);
    const wasHeld = this.#isHeld;
    this.#set(false);
    const { sql, bus, consuming } = this.#parts;
    if (!wasHeld || !(await isSettled(consuming))) return;
    await releaseReporter(sql, this.#name, this.#holder).then(
      () => bus.tell(this.#topic),
      () => undefined,
    );
  }

  async #take(): Promise<undefined> {
    // The lease runs out meanwhile: what this one has pulled comes to another only later.
    if (!this.#canPull()) {
      this.#set(false);
      return;
    }
    const askedMs = performance.now();
    const taken = await takeLease(this.#parts.sql, this.#name, this.#holder, leaseMs);
    const wasOwn = taken?.before === this.#holder && (this.#isKnown || !this.#mayHavePulled);
    if (taken && taken.before !== null && !wasOwn) {
      this.#followsAtMs = askedMs + followMs;
      this.#mayHavePulled = false;
    }
    if (!taken) this.#mayHavePulled = true;
    this.#isKnown = taken !== undefined;
    const mayTake = taken !== undefined && (await this.#mayFollow()) && this.#isKnown;
    clearTimeout(this.#end);
    const leftMs = askedMs + leaseMs - marginMs - performance.now();
    if (mayTake) this.#end = setTimeout(() => this.#set(false), Math.max(0, leftMs));
    else if (taken) this.#again = setTimeout(() => this.#loop.wake(), followLookMs);
    this.#set(mayTake && leftMs > 0);
  }

  /** Returns whether the bus lets this process pull; once it has not for long, others have their turn. */
  #canPull(): boolean {
    const { bus, consuming } = this.#parts;
    if (consuming.failingMs() > stuckMs) this.#leavesUntilMs = performance.now() + leaveMs;
    return bus.isConnected() && performance.now() >= this.#leavesUntilMs;
  }

  /** Returns whether nothing of the process before can come behind what this one is given: as the bus says, or since it is so long ago. */
  async #mayFollow(): Promise<boolean> {
    if (performance.now() >= this.#followsAtMs) return true;
    const pending = await this.#parts.consuming.pending().catch(() => undefined);
    if (!pending || pending.unacknowledged > 0 || pending.requests > 0) return false;
    this.#followsAtMs = 0;
    return true;
  }

  #set(isHeld: boolean): void {
    if (!isHeld) clearTimeout(this.#end);
    if (isHeld === this.#isHeld) return;
    this.#isHeld = isHeld;
    if (isHeld) this.#mayHavePulled = true;
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
