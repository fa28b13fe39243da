import type { Poster } from '@customer-platform/outbound';
import { decryptSecret, type SecretKeys, signingKeyOf } from '@customer-platform/outbound';
import { type Database, DeadlineWatch, type Logger, meter, type Timed, WakeLoop } from '@customer-platform/service-kit';
import { endPending, type QueueState, readQueues } from './dispatch.sql.ts';
import { FairQueue } from './fair-queue.ts';
import type { HeldEndpoint } from './held-endpoint.ts';
import { HeldQueues } from './held-queues.ts';
import type { DueDelivery, TryOutcome } from './outcome.ts';
import { OutcomeWriter } from './outcome-writer.ts';
import type { RetrySchedule } from './retry-schedule.ts';
import { tryDelivery } from './try-delivery.ts';

export type DispatcherOptions = {
  sql: Database;
  log: Logger;
  clock: () => Date;
  poster: Poster;
  schedule: RetrySchedule;
  secretKeys: SecretKeys;
  /** Tries under way at most to one endpoint. */
  maxPerEndpoint: number;
  /** Tries under way at most that began within the last second; four times as many in all. */
  maxInFlight: number;
};

/** How often the database is looked at without a wake: bounds how late a retry, or work of a process that died, begins. */
const lookEveryMs = 100;
const upkeepEveryMs = 50;
const slowestRetryMs = 2000;
/** From here on a try counts as slow, and no longer against those that begin. */
const slowMs = 1000;
const maxReadAtOnce = 50;
/** Nothing more is fetched while so many deliveries that could start wait for their turn in memory. */
const maxReady = 2000;
/** More than this many tries that wait to be written, and no further one begins. */
const maxUnwritten = 2000;
const endBatch = 1000;
const stopMs = 5000;
/** A queue whose endpoint's secret cannot be read is looked at again after this. */
const unreadableRestMs = 60_000;

const tries = meter.createCounter('webhooks.tries', { description: 'Tries by what came of them.' });

type RunningTry = Timed & { isSlow: boolean };

/**
 * Sends what is due. It leases queues of endpoints, fetches their due deliveries in sets, starts tries in fair rotation
 * within its bounds, and has the outcomes written in sets. An endpoint at its cap is passed over, one that hangs loses its
 * share of the slots. All that is lost when the process dies is the lease.
 */
export class Dispatcher {
  readonly #options: DispatcherOptions;
  readonly #queues: HeldQueues;
  readonly #startable = new FairQueue<HeldEndpoint>();
  readonly #running = new DeadlineWatch<RunningTry>(slowMs, upkeepEveryMs, (running) => {
    running.isSlow = true;
    this.#slow++;
    this.#startReady();
  });
  readonly #writer: OutcomeWriter;
  readonly #look: WakeLoop;
  readonly #upkeep: WakeLoop;
  #underWay = 0;
  #slow = 0;
  #isDueForLook = true;
  #lookedAt = 0;
  #isStopping = false;

  constructor(options: DispatcherOptions) {
    const { sql, clock, log, maxPerEndpoint } = options;
    this.#options = options;
    const dropped = (held: HeldEndpoint) => this.#startable.remove(held);
    this.#queues = new HeldQueues({ sql, clock, maxPerEndpoint, dropped });
    this.#writer = new OutcomeWriter(sql, clock, log, (outcomes) => this.#onWritten(outcomes));
    this.#look = new WakeLoop('look', { everyMs: lookEveryMs, slowestRetryMs, log }, () => this.#lookAndFetch());
    this.#upkeep = new WakeLoop('upkeep', { everyMs: upkeepEveryMs, slowestRetryMs, log }, async () => {
      await this.#queues.keepUp();
      return undefined;
    });
  }

  /** Says that something became due: after the commit of the transaction that made it so. */
  wake(): void {
    this.#isDueForLook = true;
    this.#look.wake();
  }

  /** Starts nothing more, waits up to 5 s for tries under way and gives its leases back; what is cut off is tried again. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await Promise.all([this.#look.stop(), this.#upkeep.stop()]);
    const deadline = performance.now() + stopMs;
    while (this.#underWay > 0 && performance.now() < deadline) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    this.#running.stop();
    await this.#writer.stop();
    await this.#queues.giveBackAll();
  }

  async #lookAndFetch(): Promise<undefined> {
    if (this.#isDueForLook || performance.now() - this.#lookedAt >= lookEveryMs) {
      this.#isDueForLook = false;
      this.#lookedAt = performance.now();
      await this.#queues.takeDue();
    }
    const all = this.#queues.all();
    // What waits behind an endpoint at its cap is no work to go on with: it must not keep others from being fetched.
    const ready = all.reduce((sum, held) => sum + (held.canStart() ? held.ready.length : 0), 0);
    const wanting = all.filter((held) => held.wanted(this.#options.maxPerEndpoint) > 0).slice(0, maxReadAtOnce);
    if (wanting.length > 0 && ready < maxReady && this.#writer.waiting < maxUnwritten) await this.#fetch(wanting);
    this.#startReady();
  }

  async #fetch(wanting: HeldEndpoint[]): Promise<void> {
    const { sql, clock, maxPerEndpoint } = this.#options;
    const wanted = wanting.map((held) => ({
      accountId: held.accountId,
      endpointId: held.endpointId,
      limit: held.wanted(maxPerEndpoint),
    }));
    const busyIds = wanting.flatMap((held) => [...held.busy, ...held.ready.map((delivery) => delivery.id)]);
    // What becomes due during the read raises the version again and is noticed at the next look.
    for (const held of wanting) held.mayHaveMore = false;
    const states = await readQueues(sql, wanted, busyIds, clock()).catch((error: unknown) => {
      for (const held of wanting) held.mayHaveMore = true;
      throw error;
    });
    const byEndpoint = new Map(states.map((state) => [state.endpointId, state]));
    for (const [index, held] of wanting.entries()) {
      this.#queues.moveBehind(held);
      const state = byEndpoint.get(held.endpointId);
      if (state) await this.#takeIn(held, state, wanted[index]!.limit);
    }
    if (states.some((state) => state.due.length > 0)) this.#look.wake();
  }

  async #takeIn(held: HeldEndpoint, state: QueueState, limit: number): Promise<void> {
    if (held.version !== state.endpointVersion) held.ready = [];
    held.version = state.endpointVersion;
    if (!state.endpoint?.isActive) {
      await this.#endPending(held, state);
    } else if (this.#learn(held, state.endpoint)) {
      held.ready.push(...state.due);
      held.mayHaveMore = state.due.length === limit;
      held.drained = { version: state.version, laterAt: state.laterAt, isNoted: false };
      if (held.canStart()) this.#startable.add(held);
    }
    if (state.due.length > 0) held.lastWorkAt = performance.now();
  }

  /** Ends what is pending at an endpoint that is off or gone, a set a round. */
  async #endPending(held: HeldEndpoint, state: QueueState): Promise<void> {
    held.ready = [];
    const reason = state.endpoint ? 'endpoint_disabled' : 'endpoint_deleted';
    held.mayHaveMore = (await endPending(this.#options.sql, state, reason, endBatch)) === endBatch;
    held.drained = { version: state.version, laterAt: null, isNoted: false };
    if (held.mayHaveMore) this.#look.wake();
    else if (!state.endpoint && held.isIdle()) await this.#queues.remove(state);
  }

  /** Takes over what the row says; false where its secret cannot be read, which is logged: it is looked at again later. */
  #learn(held: HeldEndpoint, endpoint: NonNullable<QueueState['endpoint']>): boolean {
    const { accountId, endpointId } = held;
    held.url = endpoint.url;
    held.failingSince = endpoint.failingSince;
    try {
      held.signingKeys = endpoint.secrets.map(({ stored, until }) => {
        return { key: signingKeyOf(decryptSecret(this.#options.secretKeys, stored, accountId, endpointId)), until };
      });
      return true;
    } catch (error) {
      this.#options.log.error({ err: error, endpoint: endpointId }, 'the secret of an endpoint cannot be read');
      held.isLeaving = true;
      held.restMs = unreadableRestMs;
      return false;
    }
  }

  #startReady(): void {
    const { maxInFlight } = this.#options;
    while (!this.#isStopping && this.#underWay < maxInFlight * 4 && this.#writer.waiting < maxUnwritten) {
      if (this.#underWay - this.#slow >= maxInFlight) return;
      const held = this.#startable.next();
      if (!held) return;
      const delivery = held.canStart() ? held.ready.shift() : undefined;
      if (delivery) void this.#try(held, delivery);
      if (held.canStart()) this.#startable.add(held);
      if (held.wanted(this.#options.maxPerEndpoint) > 0) this.#look.wake();
    }
  }

  async #try(held: HeldEndpoint, delivery: DueDelivery): Promise<void> {
    const running: RunningTry = { startedAtMs: performance.now(), isOver: false, isSlow: false };
    held.busy.add(delivery.id);
    held.inFlight++;
    this.#underWay++;
    this.#running.watch(running);
    const outcome = await tryDelivery(delivery, held, this.#options);
    running.isOver = true;
    this.#underWay--;
    if (running.isSlow) this.#slow--;
    held.inFlight--;
    held.lastWorkAt = performance.now();
    this.#queues.adapt(held, outcome.error === 'timeout');
    if (outcome.disable !== null) held.ready = [];
    tries.add(1, { outcome: outcome.error ?? String(outcome.httpStatus) });
    this.#writer.add(outcome, held.failingSince);
    if (held.canStart()) this.#startable.add(held);
    this.#startReady();
  }

  #onWritten(outcomes: TryOutcome[]): void {
    for (const outcome of outcomes) {
      const held = this.#queues.get(outcome.endpointId);
      held?.busy.delete(outcome.deliveryId);
      if (held && outcome.status === 'delivered') held.failingSince = null;
      else if (held) held.failingSince ??= outcome.at;
      if (outcome.disable !== null) this.wake();
    }
    this.#startReady();
  }
}
