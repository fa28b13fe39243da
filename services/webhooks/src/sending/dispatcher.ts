import {
  AccountSlots,
  inTransaction,
  type QueueMembership,
  type ReceivedEvent,
  WakeLoop,
  waitUntil,
  whenLate,
} from '@customer-platform/service-kit';
import { acceptCreated, type CreatedDelivery } from './accept-created.ts';
import { AccountStandings } from './account-standings.ts';
import { BytesUnderWay } from './bytes-under-way.ts';
import { endPending } from './dispatch.sql.ts';
import type { DispatcherOptions } from './dispatcher-options.ts';
import { FairQueue } from './fair-queue.ts';
import { type HeldEndpoint, isPausedByOperators } from './held-endpoint.ts';
import { HeldQueues } from './held-queues.ts';
import { type DueDelivery, endOf, failureText, type TryOutcome } from './outcome.ts';
import { OutcomeWriter } from './outcome-writer.ts';
import { dry, endReading, markMissed, unread } from './queue-phase.ts';
import { QueueReader } from './queue-reader.ts';
import { clockedDeliveries, deliveries, dueQueues } from './queued-deliveries.ts';
import type { QueueState } from './read-queues.sql.ts';
import { tryDelivery } from './try-delivery.ts';
import { wantingEndpoints } from './wanting-endpoints.ts';

/** Poll interval while the dispatcher holds queues. */
const lookEveryMs = 100;
const upkeepEveryMs = 50;
const slowestRetryMs = 2000;
/** An attempt that lasts longer than this counts as slow, and stops counting against `maxInFlight`. */
const slowMs = 1000;
/** Queues held in addition to one for each possible attempt in flight. */
const spareQueues = 1000;
/** No attempt begins while more outcomes than this wait to be written. */
const maxUnwritten = 2000;
const endBatch = 1000;
const stopMs = 5000;
/** Maximum time to start attempts before yielding to the event loop. Signing a large event with five secrets takes milliseconds. */
const stretchMs = 10;
/** Pause before a paused queue, or one of a suspended account, can be claimed again. */
const heldBackMs = 500;

/**
 * Sends due deliveries. Leases queues of endpoints, fetches their due deliveries in batches, rotates attempts fairly within its limits, and writes
 * outcomes in batches. Passes over endpoints and accounts at their limits, and leaves a hanging endpoint one slot. Aborts the attempts of disabled
 * and deleted endpoints. If the process dies, its leases expire, and attempts without a written outcome are made again.
 */
export class Dispatcher {
  readonly #options: DispatcherOptions;
  readonly #queues: HeldQueues;
  readonly #startable = new FairQueue<HeldEndpoint>();
  readonly #slots: AccountSlots;
  readonly #bytes = new BytesUnderWay();
  readonly #standings: AccountStandings;
  readonly #reader: QueueReader;
  readonly #writer: OutcomeWriter;
  readonly #look: Pick<WakeLoop, 'wake' | 'stop'>;
  readonly #upkeep: WakeLoop;
  readonly #membership: QueueMembership;
  readonly #unwatch: (() => void)[];
  #isDueForLook = true;
  #lookedAt = 0;
  #continuation: NodeJS.Immediate | undefined;
  #isStopping = false;

  constructor(options: DispatcherOptions) {
    const { sql, clocks, log, accounts, queues, maxPerEndpoint, maxInFlight } = options;
    this.#options = options;
    const most = maxInFlight * 4;
    this.#slots = new AccountSlots(most);
    const learned = (accountId: string) => {
      this.#startable.putBack(accountId);
      this.#startReady();
    };
    this.#standings = new AccountStandings({ accounts, log, learned });
    const dropped = (held: HeldEndpoint) => this.#startable.remove(held);
    this.#queues = new HeldQueues({ sql, clocks, maxPerEndpoint, maxHeld: most + spareQueues, dropped });
    this.#reader = new QueueReader(options, this.#queues);
    this.#writer = new OutcomeWriter(sql, clocks, log, (...written) => this.#onWritten(...written));
    const holds = () => this.#queues.all().length > 0;
    const looking = { name: 'look', rows: dueQueues, everyMs: lookEveryMs, slowestRetryMs, log };
    this.#look = options.watch.run({ ...looking, pollMs: () => (holds() ? lookEveryMs : undefined) }, () =>
      this.#lookAndFetch(),
    );
    this.#membership = queues.open({ ...deliveries, running: () => this.#queues.running, changed: () => this.wake() });
    const upkeepPauseMs = () => (holds() ? upkeepEveryMs : Number.POSITIVE_INFINITY);
    this.#upkeep = new WakeLoop('upkeep', { everyMs: upkeepPauseMs, slowestRetryMs, log }, async () => {
      await this.#queues.keepUp();
      // A released queue has a new due time, which the watch must read.
      options.watch.lookSoon();
      return undefined;
    });
    this.#unwatch = [
      clocks.onMove(() => this.wake()),
      options.clockWork.register(clockedDeliveries(() => this.wake())),
    ];
  }

  /** Signals that deliveries became due. Call it after the commit. */
  wake(): void {
    this.#isDueForLook = true;
    this.#look.wake();
  }

  /** Starts deliveries that were just created, as far as the held queues accept them. Returns whether they accepted all. */
  acceptCreated(made: readonly CreatedDelivery[], events: readonly ReceivedEvent[]): boolean {
    // The publisher may know a later sandbox time than this process. Deliveries that cannot start now would only fill memory.
    const mayNotBeDue = events.some((event) => this.#options.clocks.leadOfEvent(event) > 0);
    if (mayNotBeDue || this.#slots.freeOfFresh <= 0 || this.#writer.waiting >= maxUnwritten) return made.length === 0;
    const { taken, hasAll } = acceptCreated(made, events, this.#queues);
    for (const held of taken) this.#startable.add(held);
    if (taken.length > 0) this.#startReady();
    return hasAll;
  }

  /** Starts nothing more, waits up to 5 s for attempts in flight, and releases its leases. Attempts cut off are made again. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    for (const unwatch of this.#unwatch) unwatch();
    await Promise.all([this.#look.stop(), this.#upkeep.stop(), this.#standings.stop()]);
    await waitUntil(() => this.#slots.running === 0, stopMs);
    await this.#writer.stop();
    await this.#queues.releaseAll();
    this.#membership.close();
  }

  async #lookAndFetch(): Promise<undefined> {
    if (this.#isDueForLook || performance.now() - this.#lookedAt >= lookEveryMs) {
      const isWoken = this.#isDueForLook;
      this.#isDueForLook = false;
      this.#lookedAt = performance.now();
      await this.#takeDue(isWoken);
    }
    const wanting = wantingEndpoints(this.#queues.all(), (held) => this.#canTake(held), this.#options.maxPerEndpoint);
    if (wanting.length > 0 && this.#writer.waiting < maxUnwritten)
      await this.#fetch(wanting.slice(0, this.#reader.most));
    for (const held of this.#queues.all())
      if (held.canStart() && !isPausedByOperators(held, this.#membership.paused())) this.#startable.add(held);
    this.#startable.putBack();
    this.#startReady();
  }

  /** Leases due queues, except those paused, suspended or at a limit. Gives up held queues that are paused or suspended. */
  async #takeDue(isWoken: boolean): Promise<void> {
    const { isWhole, accounts, endpoints } = this.#membership.paused();
    const suspended = new Set(this.#standings.suspended());
    const excluded = [...suspended, ...accounts, ...this.#slots.atBound()];
    // All queues held before may be released during a claim, and the upkeep then sleeps. So a claim that leases queues wakes it.
    if (!isWhole && (await this.#queues.takeDue({ accounts: excluded, endpoints, isWoken }))) this.#upkeep.wake();
    for (const held of this.#queues.all()) {
      if (suspended.has(held.accountId) || isPausedByOperators(held, this.#membership.paused()))
        held.giveUp(heldBackMs);
    }
  }

  #mayStart(accountId: string): boolean {
    return this.#slots.freeOf(accountId) > 0 && this.#standings.maySend(accountId);
  }

  #canTake(held: HeldEndpoint): boolean {
    return held.canTake(this.#bytes) && this.#mayStart(held.accountId);
  }

  async #fetch(wanting: HeldEndpoint[]): Promise<void> {
    const { states, limits } = await this.#reader.read(wanting);
    const byEndpoint = new Map(states.map((state) => [state.endpointId, state]));
    const ending: [HeldEndpoint, QueueState][] = [];
    for (const [index, held] of wanting.entries()) {
      this.#queues.moveToEnd(held);
      const state = byEndpoint.get(held.endpointId);
      if (state && !this.#takeIn(held, state, limits[index]!)) ending.push([held, state]);
    }
    await this.#endPending(ending);
    const hasEnded = await this.#reader.endTooOld(states);
    if (hasEnded || states.some((state) => state.due.length > 0)) this.#look.wake();
  }

  /** Stores what was read. Aborts the attempts of a disabled or deleted endpoint and returns false: the caller must end its deliveries. */
  #takeIn(held: HeldEndpoint, state: QueueState, limit: number): boolean {
    if (held.version !== state.endpointVersion) held.ready = [];
    held.version = state.endpointVersion;
    held.hasChanged = false;
    if (!state.endpoint?.isActive) {
      held.ready = [];
      held.queue = unread;
      held.endReason = state.endpoint ? 'endpoint_disabled' : 'endpoint_deleted';
      if (held.inFlight > 0) this.#options.poster.abort(held.endpointId);
      return false;
    }
    if (state.endpoint.isPaused) {
      held.giveUp(0);
      return true;
    }
    if (held.learnOrGiveUp(state.endpoint, this.#options)) {
      held.ready.push(...state.due);
      held.queue = endReading(held.queue, state, state.found === limit || state.due.length < state.found);
      if (held.canStart()) this.#startable.add(held);
    }
    if (state.due.length > 0) held.lastWorkAt = performance.now();
    return true;
  }

  /** Ends pending deliveries of disabled and deleted endpoints. One batch per round in total, since other accounts wait for the round. */
  async #endPending(ending: [HeldEndpoint, QueueState][]): Promise<void> {
    let left = endBatch;
    for (const [held, state] of ending) {
      if (left === 0) break;
      const limit = left;
      left -= await inTransaction(this.#options.sql, (tx) => endPending(tx, state, held.endReason!, limit));
      if (left === 0) continue;
      held.queue = dry({ version: state.version, laterAt: null });
      if (!state.endpoint && held.isIdle()) await this.#queues.remove(state);
    }
    if (left === 0) this.#look.wake();
  }

  #startReady(): void {
    if (this.#continuation) return;
    const mayStart = (accountId: string) => this.#mayStart(accountId);
    const untilMs = performance.now() + stretchMs;
    while (!this.#isStopping && this.#slots.freeOfFresh > 0 && this.#writer.waiting < maxUnwritten) {
      if (performance.now() > untilMs) {
        this.#continuation = setImmediate(() => {
          this.#continuation = undefined;
          this.#startReady();
        });
        return;
      }
      const held = this.#startable.next(mayStart);
      if (!held) return;
      if (isPausedByOperators(held, this.#membership.paused())) continue; // the next look gives it up or adds it again
      const delivery = held.takeNext(this.#bytes);
      if (!delivery) continue; // the next look adds it again if it only has to wait
      void this.#try(held, delivery);
      if (held.canStart()) this.#startable.add(held);
      if (held.wanted(this.#options.maxPerEndpoint) > 0) this.#look.wake();
    }
  }

  async #try(held: HeldEndpoint, delivery: DueDelivery): Promise<void> {
    const { accountId } = held;
    let isSlow = false;
    this.#slots.begin(accountId);
    const ended = whenLate(slowMs, () => {
      isSlow = true;
      this.#slots.slowDown(accountId);
      this.#startReady();
    });
    const outcome = await tryDelivery(delivery, held, this.#options);
    ended();
    const end = endOf(outcome);
    this.#slots.end(accountId, isSlow, end);
    this.#startable.putBack(accountId);
    held.ended(delivery, this.#bytes);
    this.#queues.adapt(held, end);
    if (outcome.disable !== null) held.ready = [];
    if (outcome.status !== 'delivered') this.#membership.failed(failureText(outcome));
    held.applyResult(outcome);
    // If the lease was lost and this process took it again, attempts from before may still be in flight.
    const current = this.#queues.get(held.endpointId);
    if (current !== held) current?.applyResult(outcome);
    this.#writer.add(outcome);
    if (held.canStart()) this.#startable.add(held);
    this.#startReady();
  }

  #onWritten(outcomes: readonly TryOutcome[], waitingEndpoints: readonly string[]): void {
    // A delivery redelivered during its attempt may be due at once, but a read during this write skipped it as busy.
    for (const held of waitingEndpoints.map((id) => this.#queues.get(id)))
      if (held) held.queue = markMissed(held.queue);
    for (const outcome of outcomes) {
      const held = this.#queues.get(outcome.endpointId);
      held?.busy.delete(outcome.deliveryId);
      if (held?.canStart()) this.#startable.add(held);
      if (outcome.disable !== null) this.wake();
      // The queue of a deleted endpoint is removed once none of its attempts is in flight.
      if (held?.endReason === 'endpoint_deleted' && held.isIdle()) {
        held.queue = markMissed(held.queue);
        this.#look.wake();
      }
    }
    this.#startReady();
  }
}
