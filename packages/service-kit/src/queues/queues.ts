import type { MeasuredQueue, OwnerDepth, QueuePart } from '@customer-platform/contracts/core';
import type { Bus } from '../bus/bus.ts';
import type { Database, Sql } from '../database/database.ts';
import type { QueueRows } from '../database/queue-rows.ts';
import type { Logger } from '../telemetry/logging.ts';
import { meter } from '../telemetry/meter.ts';
import { coalesced } from '../timing/single-flight.ts';
import { type Paused, Pauses } from './pauses.ts';
import {
  countFailedRows,
  type Depth,
  failedEventsOf,
  maxMoved,
  measureFailedEvents,
  measureRows,
  retryRows,
  selectOwners,
  selectPauses,
} from './queues.sql.ts';
import { Reporter } from './reporter.ts';

/** Number of entries of an account, or of one of its endpoints, that run in this process. */
export interface OwnerRuns {
  account: string;
  endpoint?: string;
  running: number;
}

/** A queue as operators see it. The engine, a batch job, a consumer or a scheduler of its own works on it. */
export interface ReportedQueue {
  queue: string;
  /** Its rows. A consumer has none: its entries are on the bus, and failures are failed events under its name. */
  rows?: QueueRows;
  /** Rows of another table that become entries at their time. They count as entries due then. */
  scheduled?: QueueRows | undefined;
  /** Running rows are due later, at the end of their lease. */
  hasLeases?: boolean;
  /** Failed events under the queue's name belong to it. */
  hasFailedEvents?: boolean;
  /** Returns the entries that run in this process. */
  running?(): readonly OwnerRuns[];
  /** Returns the entries that wait on the bus; undefined if the bus is unavailable. */
  pending?(): Promise<Pick<Depth, 'ready' | 'oldest'> | undefined>;
  /** Adds details to parts that their rows do not have. */
  describe?(sql: Sql, owners: OwnerDepth[]): Promise<OwnerDepth[]>;
  /** Returns whether the endpoint exists. */
  hasEndpoint?(sql: Sql, part: QueuePart): Promise<boolean>;
  /** Makes failed rows due now, at most `maxMoved`, and returns their number. Needed if more than the due time must change. */
  retry?: typeof retryRows;
  /** Called when an operator may have paused, resumed or retried something. */
  changed?(): void;
}

/** A queue as its worker sees it. */
export interface QueueMembership {
  /** Returns the parts of it that operators paused. */
  paused(): Paused;
  /** Records an error for operators. */
  failed(error: unknown): void;
  /** Removes the queue. */
  close(): void;
}

const gauges = {
  'queue.ready': { description: 'Entries that are due, by queue; paused ones included.' },
  'queue.waiting': { description: 'Entries that are due later, by queue.' },
  'queue.dead': { description: 'Dead events, by queue.' },
  'queue.lag': { unit: 's', description: 'Age of the oldest entry that is due, by queue.' },
};

/** The queues of one process, as operators and metrics see them and operators change them. */
export class Queues {
  readonly pauses: Pauses;
  readonly #sql: Database;
  readonly #clock: () => Date;
  readonly #queues = new Map<string, ReportedQueue>();
  readonly #lastErrors = new Map<string, { text: string; at: Date }>();
  readonly #reporter: Reporter;
  readonly #stopReport: () => void;

  /** Reads the pauses. Throws if the database is unavailable. */
  static async open(sql: Database, bus: Bus, options: { log: Logger; clock: () => Date }): Promise<Queues> {
    const queues = new Queues(sql, bus, options);
    await queues.pauses.refresh();
    return queues;
  }

  private constructor(sql: Database, bus: Bus, { log, clock }: { log: Logger; clock: () => Date }) {
    this.#sql = sql;
    this.#clock = clock;
    const changed = () => {
      for (const queue of this.#queues.values()) queue.changed?.();
    };
    this.pauses = new Pauses(sql, { bus, log, changed });
    this.#reporter = new Reporter(sql, 'queues');
    this.#stopReport = meter.observe(gauges, async (observe) => {
      if (!(await this.#reporter.isChosen())) return;
      const now = clock().getTime();
      for (const { queue, ready, later, hasLeases, dead, oldestAt } of await this.measure()) {
        const waiting = hasLeases ? Math.max(0, later - this.#runningOf(queue)) : later;
        const lagMs = ready > 0 && oldestAt ? Math.max(0, now - Date.parse(oldestAt)) : 0;
        observe('queue.ready', ready, { queue });
        observe('queue.waiting', waiting, { queue });
        observe('queue.dead', dead, { queue });
        observe('queue.lag', lagMs / 1000, { queue });
      }
    });
  }

  /** Registers a queue under a unique name. */
  open(queue: ReportedQueue): QueueMembership {
    const { queue: name } = queue;
    if (this.#queues.has(name)) throw new RangeError(`there are two queues named ${name}`);
    this.#queues.set(name, queue);
    return {
      paused: () => this.pauses.of(name),
      failed: (error) => this.noteError(name, error),
      close: () => this.#queues.delete(name),
    };
  }

  /** Records an error of a queue for operators. */
  noteError(name: string, error: unknown): void {
    this.#lastErrors.set(name, { text: errorText(error), at: this.#clock() });
  }

  /** Returns the names of all queues. */
  get names(): string[] {
    return [...this.#queues.keys()];
  }

  /** Returns a queue; undefined if none has that name. */
  get(name: string): ReportedQueue | undefined {
    return this.#queues.get(name);
  }

  /** Returns the number of running entries in this process and the last error, for every queue. */
  report() {
    return [...this.#queues.values()].map(({ queue }) => {
      const error = this.#lastErrors.get(queue);
      return {
        queue,
        running: this.#runningOf(queue),
        lastError: error?.text ?? null,
        lastErrorAt: error?.at.toISOString() ?? null,
      };
    });
  }

  /** Returns the running entries of a queue in this process, by account and endpoint. */
  runningByOwner(queue: string): readonly OwnerRuns[] {
    return this.#queues.get(queue)?.running?.() ?? [];
  }

  /** Measures every queue with its pauses. Runs one measurement at a time, however many callers there are. */
  readonly measure = coalesced(() => this.#measure());

  async #measure(): Promise<MeasuredQueue[]> {
    const now = this.#clock();
    const [failed, pauses] = await Promise.all([measureFailedEvents(this.#sql, now), selectPauses(this.#sql)]);
    return await Promise.all(
      [...this.#queues.values()].map(
        async ({ queue, rows, scheduled, hasLeases = false, hasFailedEvents, pending }) => {
          const parts = [
            rows && (await measureRows(this.#sql, rows, now)),
            scheduled && (await measureRows(this.#sql, scheduled, now)),
            await pending?.(),
            hasFailedEvents ? failed.get(queue) : undefined,
          ];
          const known = parts.filter((part) => part !== undefined);
          const oldest = known.flatMap(({ oldest }) => oldest ?? []).sort((a, b) => a.getTime() - b.getTime())[0];
          const sum = (field: 'ready' | 'later' | 'failedLater' | 'dead') =>
            known.reduce((total, part: Depth) => total + (part[field] ?? 0), 0);
          return {
            queue,
            ready: sum('ready'),
            later: sum('later'),
            ...((rows ? rows.failed : hasFailedEvents) && { failedLater: sum('failedLater') }),
            dead: sum('dead'),
            hasLeases,
            oldestAt: oldest?.toISOString() ?? null,
            pauses: pauses
              .filter((pause) => pause.queue === queue)
              .map(({ queue: _, at, ...pause }) => ({ ...pause, at: at.toISOString() })),
          };
        },
      ),
    );
  }

  /** Returns the parts of a queue, the 100 deepest first; null if no queue has that name. */
  async owners(name: string, by: 'account' | 'endpoint'): Promise<OwnerDepth[] | null> {
    const queue = this.#queues.get(name);
    if (!queue) return null;
    const { rows, scheduled, hasFailedEvents, describe = async (_, owners) => owners } = queue;
    const tables = [rows, scheduled].filter((table) => table !== undefined);
    const failedOf = hasFailedEvents ? name : null;
    return await describe(this.#sql, await selectOwners(this.#sql, tables, { now: this.#clock(), by, failedOf }));
  }

  /** Returns how many entries in a part of a queue wait after a failure. */
  async countFailed(part: QueuePart): Promise<number> {
    const now = this.#clock();
    const counts = this.#retried(part).map((rows) => countFailedRows(this.#sql, rows, part, now));
    return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0);
  }

  /** Makes some entries that wait after a failure due now; returns whether there may be more. */
  async retrySome(tx: Sql, part: QueuePart, now: Date): Promise<boolean> {
    const { retry = retryRows } = this.#queues.get(part.queue)!;
    let hasMore = false;
    for (const rows of this.#retried(part)) hasMore = (await retry(tx, rows, part, now)) === maxMoved || hasMore;
    return hasMore;
  }

  #retried({ queue: name }: QueuePart): QueueRows[] {
    const { rows, hasFailedEvents } = this.#queues.get(name)!;
    return [...(rows?.failed ? [rows] : []), ...(hasFailedEvents ? [failedEventsOf(name)] : [])];
  }

  async stop(): Promise<void> {
    this.#stopReport();
    await Promise.all([this.#reporter.release(), this.pauses.stop()]);
  }

  #runningOf(queue: string): number {
    return this.runningByOwner(queue).reduce((sum, { running }) => sum + running, 0);
  }
}

/** Returns an error's message for storage and display, at most 500 characters. */
export function errorText(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.replaceAll('\0', '').toWellFormed().slice(0, 500);
}
