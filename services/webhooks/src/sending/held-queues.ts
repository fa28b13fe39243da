import { randomUUID } from 'node:crypto';
import { type Clocks, type Database, LRUCache, type RunEnd } from '@customer-platform/service-kit';
import { deleteQueue, noteNextDue, releaseQueues, renewLeases, takeDueQueues } from './dispatch.sql.ts';
import { adaptedCap, firstCap, HeldEndpoint } from './held-endpoint.ts';
import { markDue, note } from './queue-phase.ts';
import type { QueueState } from './read-queues.sql.ts';

export type HeldQueuesOptions = {
  sql: Database;
  clocks: Clocks;
  /** Maximum number of attempts in flight per endpoint. */
  maxPerEndpoint: number;
  /** Maximum number of queues held. It exceeds the maximum number of attempts, so that some queues can always be released. */
  maxHeld: number;
  /** Called with each queue that is no longer held. */
  dropped: (held: HeldEndpoint) => void;
};

/** Accounts and endpoints whose queues are not claimed. */
type PassedOver = { accounts: readonly string[]; endpoints: readonly string[] };

const renewEveryMs = 3000;
/** Time for which a new lease of 10 s certainly holds. The margin covers a pause of the process between checking the time and sending. */
const certainMs = 9000;
/** Time after which a drained queue's next due time is stored, shortly before its release. Steady traffic thus avoids a write per event. */
const drainedMs = 900;
/** An idle queue is kept for this time, so that steady traffic does not take a lease for each event. */
const idleMs = 1000;
const maxKeptCaps = 10_000;

/** The queues that this process has leased. Claims due queues, renews leases and releases idle queues. */
export class HeldQueues {
  readonly #options: HeldQueuesOptions;
  readonly #owner = randomUUID();
  readonly #held = new Map<string, HeldEndpoint>();
  /** Earned caps of endpoints, kept while their queues are not held. */
  readonly #caps = new LRUCache<string, number>({ max: maxKeptCaps });
  /** Queues whose lease is being released. A look may return outdated rows for them. */
  readonly #releasing = new Set<string>();
  /** Queues that were being released at any time during the current look. */
  #releasedMeanwhile = new Set<string>();
  #renewedAt = performance.now();

  constructor(options: HeldQueuesOptions) {
    this.#options = options;
  }

  all(): HeldEndpoint[] {
    return [...this.#held.values()];
  }

  /** Attempts in flight by endpoint. */
  get running(): { account: string; endpoint: string; running: number }[] {
    const busy = this.all().filter(({ inFlight }) => inFlight > 0);
    return busy.map(({ accountId, endpointId, inFlight }) => {
      return { account: accountId, endpoint: endpointId, running: inFlight };
    });
  }

  get(endpointId: string): HeldEndpoint | undefined {
    return this.#held.get(endpointId);
  }

  /** Returns the held queue of an endpoint. Undefined if it is not held or its account has a sandbox clock. */
  ofRealTime(endpointId: string): HeldEndpoint | undefined {
    const held = this.#held.get(endpointId);
    return held && this.#options.clocks.ownerOf(held.accountId) === undefined ? held : undefined;
  }

  /** Moves a queue to the end of the line, so that each gets its turn. */
  moveToEnd(held: HeldEndpoint): void {
    if (this.#held.delete(held.endpointId)) this.#held.set(held.endpointId, held);
  }

  /**
   * Leases due queues, except those of excluded accounts and endpoints, and marks held queues that are due again.
   * Returns whether it leased new ones, which then need upkeep.
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
        // The lease had expired: another process may have held the queue meanwhile and sent the fetched deliveries.
        if (queue.isTaken) held.certainUntilMs = certainUntilMs;
        if (queue.isTaken || held.version !== queue.endpointVersion) held.dropFetched();
        held.queue = markDue(held.queue, queue.version, clocks.nowOf(queue.accountId, now));
      } else if (!this.#releasedMeanwhile.has(queue.endpointId)) {
        const cap = this.#caps.get(queue.endpointId) ?? firstCap;
        this.#held.set(queue.endpointId, new HeldEndpoint(queue, cap, certainUntilMs));
        hasTaken = true;
      }
    }
    return hasTaken;
  }

  /** Adapts an endpoint's cap to how an attempt ended. */
  adapt(held: HeldEndpoint, end: RunEnd): void {
    const cap = adaptedCap(held.cap, end, this.#options.maxPerEndpoint);
    if (cap === held.cap) return;
    held.cap = cap;
    if (cap > firstCap) this.#caps.set(held.endpointId, cap);
    else this.#caps.delete(held.endpointId);
  }

  /** Notes drained queues, releases idle ones and renews the other leases. */
  async keepUp(): Promise<void> {
    await this.#noteDrained();
    if (performance.now() - this.#renewedAt >= renewEveryMs) {
      this.#renewedAt = performance.now();
      await this.#renew(this.all());
      return;
    }
    await this.#releaseIdle();
    // Transactions that write outcomes or new deliveries often lock the row of a busy queue. A skipped renewal is retried at once.
    await this.#renew(this.all().filter(({ certainUntilMs }) => certainUntilMs < this.#renewedAt + certainMs));
  }

  /** Deletes the queue of a deleted endpoint that has no pending deliveries. */
  async remove(state: QueueState): Promise<void> {
    await deleteQueue(this.#options.sql, this.#owner, state);
  }

  /** Releases all queues. Unfinished queues are due at once. */
  async releaseAll(): Promise<void> {
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
   * Releases idle queues. When no room is left, also releases the 10 % held longest, preferring queues with nothing in
   * flight. A chosen queue with attempts in flight or unwritten outcomes is released once they have ended.
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
    const dueAgainAt = (held: HeldEndpoint) => new Date(clocks.nowOf(held.accountId).getTime() + held.pauseMs);
    await this.#release(over, (held) => (held.isLeaving ? dueAgainAt(held) : null));
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
