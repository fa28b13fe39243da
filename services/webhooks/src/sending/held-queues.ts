import { randomUUID } from 'node:crypto';
import { type Clocks, type Database, LRUCache, type RunEnd } from '@customer-platform/service-kit';
import { deleteQueue, noteNextDue, releaseQueues, renewLeases, takeDueQueues } from './dispatch.sql.ts';
import { adaptedCap, firstCap, HeldEndpoint } from './held-endpoint.ts';
import { note, seeDue } from './queue-phase.ts';
import type { QueueState } from './read-queues.sql.ts';

export type HeldQueuesOptions = {
  sql: Database;
  clocks: Clocks;
  /** Tries under way at most to one endpoint. */
  maxPerEndpoint: number;
  /** Queues held at most; more than there are tries under way, so that some can always give way to others. */
  maxHeld: number;
  /** Called with each queue that is no longer held. */
  dropped: (held: HeldEndpoint) => void;
};

/** Accounts and endpoints of which nothing is taken. */
type PassedOver = { accounts: readonly string[]; endpoints: readonly string[] };

const renewEveryMs = 3000;
/** Time after which a lease of 10 s does not hold for sure: its holder may stand still between a look at the time and the try. */
const certainMs = 9000;
/** A queue that has run dry is noted after this, shortly before it is given back, unless something else came: with steady traffic it would be for each event. */
const drainedMs = 900;
/** A queue without work is kept for this long, so that an endpoint with steady traffic is not leased for each event. */
const idleMs = 1000;
const maxKeptCaps = 10_000;

/** The queues that this process has under lease: takes those that are due, renews, and gives back those without work. */
export class HeldQueues {
  readonly #options: HeldQueuesOptions;
  readonly #owner = randomUUID();
  readonly #held = new Map<string, HeldEndpoint>();
  /** Caps that endpoints have earned, kept while they are not held. */
  readonly #caps = new LRUCache<string, number>({ max: maxKeptCaps });
  /** Queues whose lease is being given back: what a look says of them is not to be trusted. */
  readonly #releasing = new Set<string>();
  /** The same of those that were being given back at any time of the look that is under way. */
  #releasedMeanwhile = new Set<string>();
  #renewedAt = performance.now();

  constructor(options: HeldQueuesOptions) {
    this.#options = options;
  }

  all(): HeldEndpoint[] {
    return [...this.#held.values()];
  }

  /** Tries under way, by endpoint. */
  get running(): { account: string; endpoint: string; running: number }[] {
    const busy = this.all().filter(({ inFlight }) => inFlight > 0);
    return busy.map(({ accountId, endpointId, inFlight }) => {
      return { account: accountId, endpoint: endpointId, running: inFlight };
    });
  }

  get(endpointId: string): HeldEndpoint | undefined {
    return this.#held.get(endpointId);
  }

  /** Returns the queue of an endpoint that goes by the real time; undefined where it is not held, or goes by the clock of its account. */
  ofRealTime(endpointId: string): HeldEndpoint | undefined {
    const held = this.#held.get(endpointId);
    return held && this.#options.clocks.ownerOf(held.accountId) === undefined ? held : undefined;
  }

  /** Puts a queue behind the others, so that each gets its turn. */
  moveBehind(held: HeldEndpoint): void {
    if (this.#held.delete(held.endpointId)) this.#held.set(held.endpointId, held);
  }

  /**
   * Leases queues that are due, but none of the accounts and endpoints that are passed over, and notes which of those held have become due again.
   * Returns whether it holds more than before: they are to be kept up.
   */
  async takeDue({ isWoken, ...passedOver }: PassedOver & { isWoken: boolean }): Promise<boolean> {
    const { sql, clocks, maxHeld } = this.#options;
    const now = clocks.real();
    const certainUntilMs = performance.now() + certainMs;
    const room = Math.max(0, maxHeld - this.#held.size);
    this.#releasedMeanwhile = new Set(this.#releasing);
    let hasTaken = false;
    for (const queue of await takeDueQueues(sql, this.#owner, now, {
      limit: room,
      hasClocks: clocks.hasAny,
      isWoken,
      ...passedOver,
    })) {
      const held = this.#held.get(queue.endpointId);
      if (held) {
        // Its lease had run out: another process may have had it meanwhile, and sent what is fetched.
        if (queue.isTaken) held.certainUntilMs = certainUntilMs;
        if (queue.isTaken || held.version !== queue.endpointVersion) held.forgetFetched();
        held.queue = seeDue(held.queue, queue.version, clocks.nowOf(queue.accountId, now));
      } else if (!this.#releasedMeanwhile.has(queue.endpointId)) {
        const cap = this.#caps.get(queue.endpointId) ?? firstCap;
        this.#held.set(queue.endpointId, new HeldEndpoint(queue, cap, certainUntilMs));
        hasTaken = true;
      }
    }
    return hasTaken;
  }

  /** Fits the cap of an endpoint to the end of a try. */
  adapt(held: HeldEndpoint, end: RunEnd): void {
    const cap = adaptedCap(held.cap, end, this.#options.maxPerEndpoint);
    if (cap === held.cap) return;
    held.cap = cap;
    if (cap > firstCap) this.#caps.set(held.endpointId, cap);
    else this.#caps.delete(held.endpointId);
  }

  /** Writes what has run dry, gives back what has for a while, and renews the rest. */
  async keepUp(): Promise<void> {
    await this.#noteDrained();
    if (performance.now() - this.#renewedAt >= renewEveryMs) {
      this.#renewedAt = performance.now();
      await this.#renew(this.all());
      return;
    }
    await this.#releaseIdle();
    // Whoever writes outcomes, or what comes in, has the row of a busy endpoint for much of the time: it is tried again at once.
    await this.#renew(this.all().filter(({ certainUntilMs }) => certainUntilMs < this.#renewedAt + certainMs));
  }

  /** Removes the queue of an endpoint that is gone and has nothing pending. */
  async remove(state: QueueState): Promise<void> {
    await deleteQueue(this.#options.sql, this.#owner, state);
  }

  /** Gives everything back; what was not finished is due at once. */
  async giveBackAll(): Promise<void> {
    const { clocks } = this.#options;
    const all = this.all();
    const hasRunDry = (held: HeldEndpoint) => held.queue.kind === 'dry' && held.isIdle();
    await this.#release(all, (held) => (hasRunDry(held) ? null : clocks.nowOf(held.accountId)));
  }

  async #noteDrained(): Promise<void> {
    const beforeMs = performance.now() - drainedMs;
    const rows = this.all().flatMap((held) => {
      const { queue } = held;
      if (queue.kind !== 'dry' || queue.isNoted || queue.sinceMs > beforeMs || !held.isIdle()) return [];
      held.queue = note(queue);
      return { accountId: held.accountId, endpointId: held.endpointId, version: queue.version, laterAt: queue.laterAt };
    });
    if (rows.length === 0) return;
    await noteNextDue(this.#options.sql, this.#owner, rows);
  }

  /**
   * Gives back queues without work, and where there is no room for others also those that have been held for longest; first of
   * all those with nothing under way, since the others cannot be given back before their tries end.
   */
  async #releaseIdle(): Promise<void> {
    const { maxHeld } = this.#options;
    const nowMs = performance.now();
    if (this.#held.size >= maxHeld) {
      const isBusy = (held: HeldEndpoint) => Number(held.busy.size > 0);
      const byAge = this.all().sort((a, b) => isBusy(a) - isBusy(b) || a.heldSince - b.heldSince);
      for (const held of byAge.slice(0, maxHeld / 10)) held.isLeaving = true;
    }
    const over = this.all().filter((held) => {
      if (!held.isIdle()) return false;
      const isNoted = held.queue.kind === 'dry' && held.queue.isNoted;
      return held.isLeaving || (isNoted && nowMs - held.lastWorkAt > idleMs);
    });
    const { clocks } = this.#options;
    const restedAt = (held: HeldEndpoint) => new Date(clocks.nowOf(held.accountId).getTime() + held.restMs);
    await this.#release(over, (held) => (held.isLeaving ? restedAt(held) : null));
  }

  async #release(queues: HeldEndpoint[], dueAt: (held: HeldEndpoint) => Date | null): Promise<void> {
    if (queues.length === 0) return;
    const rows = queues.map((held) => {
      return { accountId: held.accountId, endpointId: held.endpointId, dueAt: dueAt(held) };
    });
    for (const held of queues) {
      this.#drop(held);
      this.#releasing.add(held.endpointId);
      this.#releasedMeanwhile.add(held.endpointId);
    }
    try {
      await releaseQueues(this.#options.sql, this.#owner, rows);
    } finally {
      for (const held of queues) this.#releasing.delete(held.endpointId);
    }
  }

  async #renew(queues: readonly HeldEndpoint[]): Promise<void> {
    if (queues.length === 0) return;
    const certainUntilMs = performance.now() + certainMs;
    const rows = await renewLeases(this.#options.sql, this.#owner, queues);
    const kept = new Map(rows.map(({ endpointId, isRenewed }) => [endpointId, isRenewed]));
    for (const held of queues) {
      const isRenewed = kept.get(held.endpointId);
      if (isRenewed === undefined) this.#drop(held);
      else if (isRenewed) held.certainUntilMs = certainUntilMs;
    }
  }

  #drop(held: HeldEndpoint): void {
    this.#held.delete(held.endpointId);
    held.isLeaving = true;
    this.#options.dropped(held);
  }
}
