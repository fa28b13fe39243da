import type { Bus } from '../bus.ts';
import type { Database } from '../database.ts';
import { DeadlineWatch, type Timed } from '../deadline-watch.ts';
import { errorText } from '../error-text.ts';
import type { Logger } from '../logging.ts';
import { meter } from '../meter.ts';
import type { QueueSeat, Queues, ReportedQueue } from '../queues/queues.ts';
import { inSpan } from '../telemetry.ts';
import { WakeLoop } from '../wake-loop.ts';
import { waitUntil } from '../with-timeout.ts';
import type { RunEnd } from './account-slots.ts';
import { BatchWriter } from './batch-writer.ts';
import { dueRows, hasFailed, type LeasedRow, putBack, renewLeases } from './due-rows.ts';
import { backoffMs, type DueRow, type DueWork } from './due-work.ts';
import { FairSlots, type Lane, type Room } from './fair-slots.ts';
import { lanesEveryMs, RowFinder } from './row-finder.ts';

/** Resources of its process that a queue needs. */
export interface WorkFoundation {
  sql: Database;
  bus: Pick<Bus, 'isConnected'>;
  log: Logger;
  clock: () => Date;
  queues: Pick<Queues, 'open'>;
}

const slowestRetryMs = 10_000;
/** Time that aborted runs have to end. */
const abortedMs = 1_000;
/** A run counts as slow from here on. */
const slowMs = 1_000;
const sweepMs = 50;
const maxUnwritten = 1_000;
const maxBatch = 200;
/** Rows claimed at a time, and the time between claims, while the process has more urgent work. */
const yieldingMost = 8;
const yieldingEveryMs = 50;
/** After so many failures in a row the next one is logged. */
const logEvery = 100;

const attempts = meter.createCounter('queue.attempts', {
  description: 'Attempts of queued work, by queue and outcome: done, retried, lost.',
});
type Outcome<Result> =
  | { kind: 'done'; result: Result; isLast?: boolean }
  | { kind: 'again'; dueAt: Date; counts: boolean; error: string | null }
  | { kind: 'lost' };

interface Run<Row> extends Timed, LeasedRow {
  readonly row: Row & Readonly<Record<string, unknown>>;
  readonly lane: Lane;
  readonly stop: AbortController;
  isSlow: boolean;
}

/** Why a run was aborted. */
class LeaseLost extends Error {}
class Stopped extends Error {}

/**
 * Runs the due rows of one queue until stopped: claims as many as there is room for, runs them side by side, writes what they came to in
 * sets, and renews the leases of those that take longer.
 */
export class WorkQueue<Row extends DueRow, Result> {
  readonly #work: DueWork<Row, Result>;
  readonly #foundation: WorkFoundation;
  readonly #slots: FairSlots;
  readonly #finder: RowFinder<Run<Row>>;
  readonly #runs = new Set<Run<Row>>();
  readonly #slow: DeadlineWatch<Run<Row>>;
  readonly #writer: BatchWriter<[Run<Row>, Outcome<Result>]>;
  readonly #look: WakeLoop;
  readonly #leases: WakeLoop | undefined;
  readonly #seat: QueueSeat;
  #soon: NodeJS.Timeout | undefined;
  #claimedAt = 0;
  #failures = 0;
  #isStopping = false;

  /** Starts it. */
  constructor(foundation: WorkFoundation, work: DueWork<Row, Result>) {
    this.#foundation = foundation;
    this.#work = work;
    const { queue, part, concurrency, everyMs, gatherMs, retries } = work;
    this.#seat = work.seat ?? foundation.queues.open(this.#reported());
    const log = foundation.log.child({ queue, part });
    const name = part === undefined ? queue : `${queue}: ${part}`;
    this.#slots = new FairSlots(concurrency);
    this.#finder = new RowFinder(foundation, work.table, (room, from) => this.#begin(room, from));
    this.#slow = new DeadlineWatch<Run<Row>>(slowMs, sweepMs, (run) => {
      run.isSlow = true;
      this.#slots.slowDown(run.lane);
      this.#look.wake();
    });
    this.#writer = new BatchWriter({
      name: `${name}: results`,
      log,
      maxBatch,
      write: async (ended) => {
        await this.#write(ended);
        return [];
      },
      refused: ([run, outcome], error) => {
        log.error({ err: error, row: this.#keyOf(run.row) }, 'a result cannot be stored');
        if (outcome.kind === 'done' && !outcome.isLast) this.#settleLater(run, this.#failed(run.row, error));
      },
    });
    const pace = { everyMs, slowestRetryMs, log, ...(gatherMs === undefined ? {} : { gatherMs }) };
    this.#look = new WakeLoop(name, pace, () => this.#claim());
    if (retries) {
      const { leaseMs } = retries;
      const renewal = { everyMs: Math.ceil(leaseMs / 6), slowestRetryMs: Math.ceil(leaseMs / 6), log };
      this.#leases = new WakeLoop(`${name}: leases`, renewal, () => this.#renew(leaseMs));
    }
  }

  /** Runs of this process, by account. */
  get owners(): { account: string; running: number }[] {
    return this.#slots.owners;
  }

  /** Rows that run in this process. */
  get runningRows(): Row[] {
    return [...this.#runs].map(({ row }) => row);
  }

  /** Says that a row became due: after the commit of the transaction that made it so. */
  wake(): void {
    this.#look.wake();
  }

  /** Claims nothing more, lets runs end for `stopMs` and aborts the others, whose rows are given back, and writes what is left. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    clearTimeout(this.#soon);
    await this.#look.stop();
    const hasEnded = () => this.#runs.size === 0;
    await waitUntil(hasEnded, this.#work.stopMs);
    for (const { stop } of this.#runs) stop.abort(new Stopped());
    // Whatever does not heed its signal is left to its lease.
    await waitUntil(hasEnded, abortedMs);
    this.#slow.stop();
    await this.#leases?.stop();
    await this.#writer.stop();
    if (!this.#work.seat) this.#seat.close();
  }

  /** Claims what there is room for; returns whether more may be due. */
  async #claim(): Promise<boolean> {
    if (this.#isStopping || this.#writer.waiting > maxUnwritten) return false;
    const paused = this.#seat.paused();
    if (paused.isWhole) return false;
    if (this.#work.needsBus && !this.#foundation.bus.isConnected()) return false;
    const yields = this.#work.yields?.() ?? false;
    if (yields && performance.now() - this.#claimedAt < yieldingEveryMs) return false;
    const room = this.#slots.room(yields ? yieldingMost : undefined);
    if (!room) return false;
    this.#claimedAt = performance.now();
    const found = await this.#finder.claim(room, paused.accounts);
    if (found === 'more lanes') this.#lookSoon();
    return found === 'rows' && !yields;
  }

  /** Goes on with a look at lanes in a moment, instead of at the next poll. */
  #lookSoon(): void {
    this.#soon ??= setTimeout(() => {
      this.#soon = undefined;
      this.#look.wake();
    }, lanesEveryMs);
  }

  /** Claims rows and begins their runs; returns these. */
  async #begin(room: Room, from: 'longest due' | 'lanes'): Promise<Run<Row>[]> {
    const { sql, clock } = this.#foundation;
    const now = clock();
    const due = dueRows(sql, this.#work.table, { room, now, from });
    const leasedUntil = new Date(now.getTime() + (this.#work.retries?.leaseMs ?? 0));
    const rows = await this.#work.claim(sql, { due, now, leasedUntil });
    return rows.map((row) => {
      const begun = { startedAtMs: performance.now(), isOver: false, isSlow: false };
      const lane = this.#laneOf(row);
      const run: Run<Row> = { ...begun, row: row as Run<Row>['row'], lane, leasedUntil, stop: new AbortController() };
      this.#slots.begin(lane);
      if (!this.#work.concurrency.slowIsUsual) this.#slow.watch(run);
      this.#runs.add(run);
      void this.#run(run);
      return run;
    });
  }

  /** Never rejects. */
  async #run(run: Run<Row>): Promise<void> {
    const outcome = await this.#outcomeOf(run);
    run.isOver = true;
    this.#runs.delete(run);
    const { endOf } = this.#work;
    const end: RunEnd = outcome.kind === 'done' ? (endOf?.(outcome.result) ?? 'responded') : 'other';
    this.#slots.end(run.lane, run.isSlow, end);
    attempts.add(1, { queue: this.#work.queue, outcome: outcome.kind });
    this.#settleLater(run, outcome);
    this.#look.wake();
  }

  #settleLater(run: Run<Row>, outcome: Outcome<Result>): void {
    if (outcome.kind !== 'lost') this.#writer.add([run, outcome]);
  }

  async #outcomeOf({ row, stop: { signal } }: Run<Row>): Promise<Outcome<Result>> {
    const { queue, run, retries } = this.#work;
    const { clock } = this.#foundation;
    try {
      const result = await inSpan(queue, { parent: row.trace ?? undefined }, () => run(row, signal));
      this.#failures = 0;
      return { kind: 'done', result };
    } catch (error) {
      if (signal.reason instanceof LeaseLost) return { kind: 'lost' };
      if (signal.reason instanceof Stopped && retries)
        return { kind: 'again', dueAt: clock(), counts: false, error: null };
      return this.#failed(row, error);
    }
  }

  /** Returns what follows from a run that failed, or whose result cannot be stored. */
  #failed(row: Row, error: unknown): Outcome<Result> {
    const { giveUp, retries, counts } = this.#work;
    const result = giveUp?.(row, error);
    this.#note(row, error, result === undefined && retries !== null);
    if (result !== undefined) return { kind: 'done', result, isLast: true };
    if (!retries) return { kind: 'lost' };
    const dueAt = new Date(this.#foundation.clock().getTime() + backoffMs(retries.backoff, row.attempts));
    return { kind: 'again', dueAt, counts: counts?.(error) ?? true, error: errorText(error) };
  }

  #note(row: Row, error: unknown, isAgain: boolean): void {
    this.#seat.failed(error);
    if (this.#failures++ % logEvery !== 0) return;
    const facts = { err: error, queue: this.#work.queue, row: this.#keyOf(row), attempts: row.attempts };
    this.#foundation.log.warn(facts, isAgain ? 'an attempt failed; it is made again' : 'the last attempt failed');
  }

  async #write(ended: readonly [Run<Row>, Outcome<Result>][]): Promise<void> {
    const again = ended.flatMap(([run, outcome]) => (outcome.kind === 'again' ? [{ ...run, ...outcome }] : []));
    const done = ended.flatMap(([{ row }, outcome]) =>
      outcome.kind === 'done' ? [{ row, result: outcome.result }] : [],
    );
    if (again.length > 0) await putBack(this.#foundation.sql, this.#work.table, again);
    if (done.length > 0) await this.#work.settle(done);
  }

  /** Renews the leases that have less than two thirds left, and aborts the runs whose rows are another's. */
  async #renew(leaseMs: number): Promise<boolean> {
    const { sql, clock } = this.#foundation;
    const { table } = this.#work;
    const now = clock().getTime();
    const ending = [...this.#runs].filter(({ leasedUntil }) => leasedUntil.getTime() <= now + (leaseMs * 2) / 3);
    if (ending.length === 0) return false;
    const kept = new Set(await renewLeases(sql, table, ending, new Date(now + leaseMs)));
    for (const run of ending) if (!kept.has(run)) run.stop.abort(new LeaseLost());
    return false;
  }

  #reported(): ReportedQueue {
    const { queue, table, scheduled, retries } = this.#work;
    return {
      queue,
      scheduled,
      rows: { failed: hasFailed(table.error), ...table },
      hasLeases: retries !== null,
      running: () => this.#slots.owners,
      changed: () => this.#look.wake(),
    };
  }

  #laneOf({ account_id, channel }: DueRow & { channel?: string }): Lane {
    return this.#work.table.hasChannels && channel !== undefined ? { account_id, channel } : { account_id };
  }

  #keyOf(row: Row): Record<string, unknown> {
    const values = row as Readonly<Record<string, unknown>>;
    return Object.fromEntries(Object.keys(this.#work.table.key).map((column) => [column, values[column]]));
  }
}
