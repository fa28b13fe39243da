import {
  AccountSlots,
  inTransaction,
  type QueueSeat,
  type ReceivedEvent,
  WakeLoop,
  waitUntil,
  whenLate,
} from '@customer-platform/service-kit';
import { AccountStandings } from './account-standings.ts';
import { BytesUnderWay } from './bytes-under-way.ts';
import { endPending } from './dispatch.sql.ts';
import type { DispatcherOptions } from './dispatcher-options.ts';
import { FairQueue } from './fair-queue.ts';
import { type HeldEndpoint, isPaused } from './held-endpoint.ts';
import { HeldQueues } from './held-queues.ts';
import { type DueDelivery, endOf, failureText, type TryOutcome } from './outcome.ts';
import { OutcomeWriter } from './outcome-writer.ts';
import { dry, endReading, missSomething, unread } from './queue-phase.ts';
import { QueueReader } from './queue-reader.ts';
import { clockedDeliveries, deliveries, dueQueues } from './queued-deliveries.ts';
import type { QueueState } from './read-queues.sql.ts';
import { type MadeDelivery, takeMade } from './take-made.ts';
import { tryDelivery } from './try-delivery.ts';
import { wantingEndpoints } from './wanting-endpoints.ts';

/** Poll interval while it has queues, or left some that are due. */
const lookEveryMs = 100;
const upkeepEveryMs = 50;
const slowestRetryMs = 2000;
/** From here on a try counts as slow, and no longer against those that begin. */
const slowMs = 1000;
/** Queues held at most beside one for each try that can be under way. */
const spareQueues = 1000;
/** More than this many tries that wait to be written, and no further one begins. */
const maxUnwritten = 2000;
const endBatch = 1000;
const stopMs = 5000;
/** Time for which tries are started without a break: a large event takes milliseconds to be signed with five secrets. */
const stretchMs = 10;
/** A queue that is paused or whose account is suspended is looked at again after this, once that is over. */
const restingMs = 500;

/**
 * Sends what is due. It leases queues of endpoints, fetches their due deliveries in sets, starts tries in fair rotation
 * within its bounds, and has the outcomes written in sets. Endpoints and accounts at their bounds are passed over, an endpoint that
 * hangs is left with one slot, and one that is off or gone has its tries cut off. All that is lost when the process dies is the lease.
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
  readonly #seat: QueueSeat;
  readonly #unwatch: (() => void)[];
  #isDueForLook = true;
  #lookedAt = 0;
  #goingOn: NodeJS.Immediate | undefined;
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
    this.#seat = queues.open({ ...deliveries, running: () => this.#queues.running, changed: () => this.wake() });
    const upkeepPauseMs = () => (holds() ? upkeepEveryMs : Number.POSITIVE_INFINITY);
    this.#upkeep = new WakeLoop('upkeep', { everyMs: upkeepPauseMs, slowestRetryMs, log }, async () => {
      await this.#queues.keepUp();
      // Queues that were given back are due at their next delivery.
      options.watch.lookSoon();
      return undefined;
    });
    this.#unwatch = [
      clocks.onMove(() => this.wake()),
      options.clockWork.register(clockedDeliveries(() => this.wake())),
    ];
  }

  /** Says that something became due: after the commit of the transaction that made it so. */
  wake(): void {
    this.#isDueForLook = true;
    this.#look.wake();
  }

  /** Begins with deliveries that were just made, as far as its queues can take them; returns whether it has them all. */
  takeMade(made: readonly MadeDelivery[], events: readonly ReceivedEvent[]): boolean {
    // What could not start would wait in memory; what goes by a clock, of which this process may have yet to hear, may not be due.
    const mayNotBeDue = events.some((event) => this.#options.clocks.toldBy(event) > 0);
    if (mayNotBeDue || this.#slots.freeOfFresh <= 0 || this.#writer.waiting >= maxUnwritten) return made.length === 0;
    const { taken, hasAll } = takeMade(made, events, this.#queues);
    for (const held of taken) this.#startable.add(held);
    if (taken.length > 0) this.#startReady();
    return hasAll;
  }

  /** Starts nothing more, waits up to 5 s for tries under way and gives its leases back; what is cut off is tried again. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    for (const unwatch of this.#unwatch) unwatch();
    await Promise.all([this.#look.stop(), this.#upkeep.stop(), this.#standings.stop()]);
    await waitUntil(() => this.#slots.running === 0, stopMs);
    await this.#writer.stop();
    await this.#queues.giveBackAll();
    this.#seat.close();
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
      if (held.canStart() && !isPaused(held, this.#seat.paused())) this.#startable.add(held);
    this.#startable.putBack();
    this.#startReady();
  }

  /** Leases what is due, but nothing that is paused, suspended or at its bound, and gives up what it holds of the first two. */
  async #takeDue(isWoken: boolean): Promise<void> {
    const { isWhole, accounts, endpoints } = this.#seat.paused();
    const suspended = new Set(this.#standings.suspended());
    const resting = [...suspended, ...accounts, ...this.#slots.atBound()];
    // Also where some were held before: those may have been given back meanwhile, and the upkeep sleeps.
    if (!isWhole && (await this.#queues.takeDue({ accounts: resting, endpoints, isWoken }))) this.#upkeep.wake();
    for (const held of this.#queues.all()) {
      if (suspended.has(held.accountId) || isPaused(held, this.#seat.paused())) held.giveUp(restingMs);
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
      this.#queues.moveBehind(held);
      const state = byEndpoint.get(held.endpointId);
      if (state && !this.#takeIn(held, state, limits[index]!)) ending.push([held, state]);
    }
    await this.#endPending(ending);
    const hasEnded = await this.#reader.endTooOld(states);
    if (hasEnded || states.some((state) => state.due.length > 0)) this.#look.wake();
  }

  /** Takes in what was read; false where the endpoint is off or gone, whose tries are cut off: what is pending there is to end. */
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
    if (held.learnOrRest(state.endpoint, this.#options)) {
      held.ready.push(...state.due);
      held.queue = endReading(held.queue, state, state.found === limit || state.due.length < state.found);
      if (held.canStart()) this.#startable.add(held);
    }
    if (state.due.length > 0) held.lastWorkAt = performance.now();
    return true;
  }

  /** Ends what is pending at endpoints that are off or gone, one set of it a round, whosever it is: others wait for the round. */
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
    if (this.#goingOn) return;
    const mayStart = (accountId: string) => this.#mayStart(accountId);
    const untilMs = performance.now() + stretchMs;
    while (!this.#isStopping && this.#slots.freeOfFresh > 0 && this.#writer.waiting < maxUnwritten) {
      if (performance.now() > untilMs) {
        this.#goingOn = setImmediate(() => {
          this.#goingOn = undefined;
          this.#startReady();
        });
        return;
      }
      const held = this.#startable.next(mayStart);
      if (!held) return;
      if (isPaused(held, this.#seat.paused())) continue; // the next look gives it up, or adds it again
      const delivery = held.takeNext(this.#bytes);
      if (!delivery) continue; // the next look adds it again, where it only has to wait
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
    if (outcome.status !== 'delivered') this.#seat.failed(failureText(outcome));
    held.hear(outcome);
    // Where its lease was lost and taken again, tries of the former one may still be under way.
    const current = this.#queues.get(held.endpointId);
    if (current !== held) current?.hear(outcome);
    this.#writer.add(outcome);
    if (held.canStart()) this.#startable.add(held);
    this.#startReady();
  }

  #onWritten(outcomes: readonly TryOutcome[], waitingEndpoints: readonly string[]): void {
    // A delivery may be due at once, as it was asked for again: whoever reads its queue as it is written takes it for under way.
    for (const held of waitingEndpoints.map((id) => this.#queues.get(id)))
      if (held) held.queue = missSomething(held.queue);
    for (const outcome of outcomes) {
      const held = this.#queues.get(outcome.endpointId);
      held?.busy.delete(outcome.deliveryId);
      if (held?.canStart()) this.#startable.add(held);
      if (outcome.disable !== null) this.wake();
      // The queue of an endpoint that is gone is removed once nothing of it is under way.
      if (held?.endReason === 'endpoint_deleted' && held.isIdle()) {
        held.queue = missSomething(held.queue);
        this.#look.wake();
      }
    }
    this.#startReady();
  }
}
