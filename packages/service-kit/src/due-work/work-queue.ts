import type { ClockedRows } from '../clocks/clocked-rows.sql.ts';
import { Clocks } from '../clocks/clocks.ts';
import { allAccounts, type Scope } from '../clocks/scope.ts';
import { errorText, type QueueMembership, type ReportedQueue } from '../queues/queues.ts';
import { meter } from '../telemetry/meter.ts';
import { inSpan } from '../telemetry/telemetry.ts';
import { WakeLoop } from '../timing/wake-loop.ts';
import { backoffMs } from '../values/backoff.ts';
import { waitUntil, whenLate } from '../values/with-timeout.ts';
import type { RunEnd } from './account-slots.ts';
import { BatchWriter } from './batch-writer.ts';
import { hasFailed, type LeasedRow, laneOf, putBack, renewLeases } from './due-rows.ts';
import type { DueRow, DueWork, WorkFoundation } from './due-work.ts';
import { FairSlots, type Lane } from './fair-slots.ts';
import { RowFinder } from './row-finder.ts';

const slowestRetryMs = 10_000;
/** Time that aborted runs have to end. */
const abortedMs = 1_000;
/** Time after which a run counts as slow. */
const slowMs = 1_000;
const maxUnwritten = 1_000;
const maxBatch = 200;
/** Minimum time between looks for lanes, which cost more than a claim. */
const lanesEveryMs = 20;
/** Of this many failures in a row, the first is logged. */
const logEvery = 100;

const attempts = meter.createCounter('queue.attempts', {
  description: 'Attempts of queued work, by queue and outcome: done, retried, lost.',
});

interface Run<Row> extends LeasedRow {
  readonly row: Row & Readonly<Record<string, unknown>>;
  readonly lane: Lane;
  readonly stop: AbortController;
  isSlow: boolean;
}

/** How a run ended: with a result, to be run again, or lost because another process has claimed the row. */
type Outcome<Result> =
  | { kind: 'done'; result: Result; isLast?: boolean }
  | { kind: 'again'; dueAt: Date; counts: boolean; error: string | null }
  | { kind: 'lost' };

/** Why a run was aborted. */
class LeaseLost extends Error {}
class Stopped extends Error {}

/**
 * Runs the due rows of one queue until stopped. It claims as many as there is room for, runs them concurrently, writes their results in batches,
 * and renews the leases of long runs.
 */
export class WorkQueue<Row extends DueRow, Result> {
  readonly #work: DueWork<Row, Result>;
  readonly #foundation: WorkFoundation;
  /** The clocks of the accounts; with `isByRealTime` no account has a sandbox clock. */
  readonly #clocks: Clocks;
  readonly #slots: FairSlots;
  readonly #finder: RowFinder;
  readonly #runs = new Set<Run<Row>>();
  readonly #writer: BatchWriter<[Run<Row>, Outcome<Result>]>;
  readonly #look: Pick<WakeLoop, 'wake' | 'stop'>;
  readonly #leases: WakeLoop | undefined;
  readonly #membership: QueueMembership;
  readonly #unregister: (() => void) | undefined;
  #failures = 0;
  #isStopping = false;

  /** Starts the queue. */
  constructor(foundation: WorkFoundation, work: DueWork<Row, Result>) {
    this.#foundation = foundation;
    this.#work = work;
    const { queue, part, concurrency, everyMs, gatherMs, retries } = work;
    this.#membership = work.membership ?? foundation.queues.open(this.#reported());
    const log = foundation.log.child({ queue, part });
    const name = part === undefined ? queue : `${queue}: ${part}`;
    this.#slots = new FairSlots(concurrency);
    this.#clocks = work.isByRealTime ? new Clocks(foundation.clocks.real) : foundation.clocks;
    this.#finder = new RowFinder(work.table, { isByRealTime: work.isByRealTime, lanesEveryMs });
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
        if (outcome.kind === 'done' && !outcome.isLast) this.#settleLater(run, this.#outcomeOfFailure(run.row, error));
      },
    });
    const { table } = work;
    const pace = { everyMs, slowestRetryMs, log, ...(gatherMs === undefined ? {} : { gatherMs }) };
    this.#look = foundation.watch.run({ name, rows: [table], ...pace }, () => this.#claimDue());
    if (retries) {
      const { leaseMs } = retries;
      const renewal = { everyMs: Math.ceil(leaseMs / 6), slowestRetryMs: Math.ceil(leaseMs / 6), log };
      this.#leases = new WakeLoop(`${name}: leases`, renewal, () => this.#renew(leaseMs));
    }
    if (work.isByRealTime) return;
    const take = (account: string) => this.#claim({ ...allAccounts, account });
    this.#unregister = foundation.clockWork.register({ queue, rows: clockedRowsOf(work), take });
  }

  /** Runs under way in this process, by account. */
  get owners(): { account: string; running: number }[] {
    return this.#slots.owners;
  }

  /** Rows that run in this process. */
  get runningRows(): Row[] {
    return [...this.#runs].map(({ row }) => row);
  }

  /** Reports that a row became due. Call it after the commit of the transaction that made it due. */
  wake(): void {
    this.#look.wake();
    if (!this.#work.isByRealTime) this.#foundation.clockWork.wake();
  }

  /** Stops claiming, lets runs continue for `stopMs`, aborts the others and gives their rows back, and writes the remaining results. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#unregister?.();
    await this.#look.stop();
    const hasEnded = () => this.#runs.size === 0;
    await waitUntil(hasEnded, this.#work.stopMs);
    for (const { stop } of this.#runs) stop.abort(new Stopped());
    // A run that ignores its signal is left to its lease.
    await waitUntil(hasEnded, abortedMs);
    await this.#leases?.stop();
    await this.#writer.stop();
    if (!this.#work.membership) this.#membership.close();
  }

  /** Claims rows that are due by the real time; returns whether more may be due. */
  async #claimDue(): Promise<boolean> {
    const paused = this.#membership.paused();
    if (paused.isWhole) return false;
    return await this.#claim({ ...allAccounts, ...paused });
  }

  /** Claims as many rows as there is room for and starts their runs; returns whether more may be due. A run that ends causes another claim. */
  async #claim(scope: Scope): Promise<boolean> {
    const { sql, bus } = this.#foundation;
    const { needsBus, retries, claim } = this.#work;
    if (this.#isStopping || this.#writer.waiting > maxUnwritten || (needsBus && !bus.isConnected())) return false;
    const room = this.#slots.room();
    if (!room) return false;
    const now = scope.account === undefined ? this.#clocks.real() : this.#clocks.nowOf(scope.account);
    const leasedUntil = new Date(now.getTime() + (retries?.leaseMs ?? 0));
    const { hasMore } = await this.#finder.take({ sql, now, scope, room }, async (due) => {
      const rows = await claim(sql, { due, now, leasedUntil });
      for (const row of rows) this.#begin(row, leasedUntil);
      return { rows };
    });
    return hasMore;
  }

  #begin(row: Row, leasedUntil: Date): void {
    const lane = laneOf(this.#work.table, row);
    const run: Run<Row> = {
      row: row as Run<Row>['row'],
      lane,
      leasedUntil,
      stop: new AbortController(),
      isSlow: false,
    };
    this.#slots.begin(lane);
    this.#runs.add(run);
    void this.#run(run);
  }

  /** Never rejects. */
  async #run(run: Run<Row>): Promise<void> {
    const ended = this.#work.concurrency.expectsSlowRuns
      ? () => undefined
      : whenLate(slowMs, () => this.#slowDown(run));
    const outcome = await this.#outcomeOf(run);
    ended();
    this.#runs.delete(run);
    const { endOf } = this.#work;
    const end: RunEnd = outcome.kind === 'done' ? (endOf?.(outcome.result) ?? 'responded') : 'other';
    this.#slots.end(run.lane, run.isSlow, end);
    attempts.add(1, { queue: this.#work.queue, outcome: outcome.kind });
    this.#settleLater(run, outcome);
    this.wake();
  }

  #slowDown(run: Run<Row>): void {
    run.isSlow = true;
    this.#slots.slowDown(run.lane);
    this.#look.wake();
  }

  #settleLater(run: Run<Row>, outcome: Outcome<Result>): void {
    if (outcome.kind !== 'lost') this.#writer.add([run, outcome]);
  }

  async #outcomeOf({ row, stop: { signal } }: Run<Row>): Promise<Outcome<Result>> {
    const { queue, run, retries } = this.#work;
    try {
      const traced = () => inSpan(queue, { parent: row.trace ?? undefined }, () => run(row, signal));
      const result = await this.#clocks.by(row.account_id, traced);
      this.#failures = 0;
      return { kind: 'done', result };
    } catch (error) {
      if (signal.reason instanceof LeaseLost) return { kind: 'lost' };
      if (signal.reason instanceof Stopped && retries)
        return { kind: 'again', dueAt: this.#clocks.nowOf(row.account_id), counts: false, error: null };
      return this.#outcomeOfFailure(row, error);
    }
  }

  /** Returns the outcome of a run that failed, or whose result cannot be stored. */
  #outcomeOfFailure(row: Row, error: unknown): Outcome<Result> {
    const { giveUp, retries, counts } = this.#work;
    const result = this.#clocks.by(row.account_id, () => giveUp?.(row, error));
    this.#reportFailure(row, error, result === undefined && retries !== null);
    if (result !== undefined) return { kind: 'done', result, isLast: true };
    if (!retries) return { kind: 'lost' };
    const dueAt = new Date(this.#clocks.nowOf(row.account_id).getTime() + backoffMs(retries.backoff, row.attempts));
    return { kind: 'again', dueAt, counts: counts?.(error) ?? true, error: errorText(error) };
  }

  #reportFailure(row: Row, error: unknown, isAgain: boolean): void {
    this.#membership.failed(error);
    if (this.#failures++ % logEvery !== 0) return;
    const fields = { err: error, queue: this.#work.queue, row: this.#keyOf(row), attempts: row.attempts };
    this.#foundation.log.warn(fields, isAgain ? 'an attempt failed; retrying later' : 'the last attempt failed');
  }

  /** Writes results, those on the same clock together. */
  async #write(ended: readonly [Run<Row>, Outcome<Result>][]): Promise<void> {
    const again = ended.flatMap(([run, outcome]) => (outcome.kind === 'again' ? [{ ...run, ...outcome }] : []));
    const done = ended.flatMap(([{ row }, outcome]) =>
      outcome.kind === 'done' ? [{ row, result: outcome.result }] : [],
    );
    if (again.length > 0) await putBack(this.#foundation.sql, this.#work.table, again);
    for (const [owner, part] of Map.groupBy(done, ({ row }) => this.#clocks.ownerOf(row.account_id)))
      await this.#clocks.by(owner, () => this.#work.settle(part));
    // Other rows may become due later, or by the sandbox clock of an account.
    this.#foundation.watch.lookSoon();
    for (const [{ row }] of ended) this.#foundation.clockWork.wake(row.account_id);
  }

  /** Renews leases with at most two thirds of their time left. Aborts the runs whose rows another process has claimed. */
  async #renew(leaseMs: number): Promise<undefined> {
    const leases = [...this.#runs].map((run) => {
      const nowMs = this.#clocks.nowOf(run.row.account_id).getTime();
      return { run, leftMs: run.leasedUntil.getTime() - nowMs, until: new Date(nowMs + leaseMs) };
    });
    const ending = leases.filter(({ leftMs }) => leftMs <= (leaseMs * 2) / 3);
    const kept = new Set(await renewLeases(this.#foundation.sql, this.#work.table, ending));
    for (const { run } of ending) if (!kept.has(run)) run.stop.abort(new LeaseLost());
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

  #keyOf(row: Row): Record<string, unknown> {
    const values = row as Readonly<Record<string, unknown>>;
    return Object.fromEntries(Object.keys(this.#work.table.key).map((column) => [column, values[column]]));
  }
}

/** Returns a queue's rows in the form that sandbox clocks use. */
function clockedRowsOf<Row extends DueRow, Result>(work: DueWork<Row, Result>): ClockedRows {
  const { name, where, due, attempts, error } = work.table;
  const isLeased: ClockedRows['running'] = (sql, now) =>
    sql`${sql(due)} > ${now} and ${sql(attempts)} > 0 and ${sql(error)} is null`;
  const running = work.running ?? (work.retries ? isLeased : undefined);
  return { name, due, ...(where && { where }), ...(running && { running }) };
}
