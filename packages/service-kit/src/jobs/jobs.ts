import type { AccountContext, EventData, EventDefinition } from '@customer-platform/contracts/core';
import type { ClockWork } from '../clocks/clock-work.ts';
import type { ClockedRows } from '../clocks/clocked-rows.sql.ts';
import type { Clocks } from '../clocks/clocks.ts';
import type { Scope } from '../clocks/scope.ts';
import { lockChanges } from '../database/change-order.sql.ts';
import { type Database, inTransaction, type Sql } from '../database/database.ts';
import { isUnavailable } from '../database/database-errors.ts';
import type { DueWatch, WatchedRows } from '../due-work/due-watch.ts';
import { type EventAccount, type OutboxRow, outboxRow, writeOutbox, writeOutboxOf } from '../outbox/outbox.ts';
import type { Queues, ReportedQueue } from '../queues/queues.ts';
import type { Logger } from '../telemetry/logging.ts';
import type { TraceHeaders } from '../telemetry/telemetry.ts';
import { WakeLoop } from '../timing/wake-loop.ts';
import type { AccountDirectory } from './account-directory.ts';

/** Context of work that no request started: consumers and jobs. */
export interface WorkCall<Resources> {
  tx: Sql;
  now: Date;
  log: Logger;
  resources: Resources;
  /** Publishes an event of an account with this transaction, in the active trace or `trace`. Returns its id. */
  emit<Event extends EventDefinition>(
    event: Event,
    account: EventAccount,
    data: EventData<Event>,
    trace?: TraceHeaders,
  ): string;
  /** Publishes an event for each row of `rows`, whose one column `data` is the event's data as JSON. Returns their number. */
  emitEach(event: EventDefinition, account: EventAccount, rows: ReturnType<Sql>): Promise<number>;
  /**
   * Returns the existing accounts among these ids. If one is not cached, rolls back, asks the gateway (at most once a minute per account) and
   * restarts the work. Call it before anything that a rollback does not undo.
   */
  findAccounts(accountIds: string[]): ReadonlyMap<string, AccountContext>;
  /** The same instant in an account's time, for work of several accounts. */
  nowOf(accountId: string): Date;
}

/** Repeated work, such as due rows or retention. Any number of processes may run the same job. */
export interface Job<Resources> {
  name: string;
  /** Pause after a round that found nothing more. With watched rows, the pause before rows that it left. */
  everyMs: number;
  /** The queue that it works on. The job does not run while operators pause the whole queue. */
  queue?: ReportedQueue;
  /** Rows at whose time it has work, if they are not those of its queue. */
  due?: ClockedRows;
  /** Rows that wake it, if they are not those of `due` or its queue. A job without any runs every `everyMs`. */
  watched?: readonly WatchedRows[];
  /** Statement timeout, if longer than the usual 5 s. The job then has connections of its own. */
  statementMs?: number;
  /**
   * Runs one round in one transaction, and claims a bounded number of rows with `for update skip locked`. A round by real time and one by a
   * sandbox clock may run concurrently. Skips paused parts of its queue and accounts outside `scope`. Returns whether more rows may wait; the next
   * round then follows at once. Throws RoundAbandoned to roll back without a failure.
   */
  run(call: WorkCall<Resources>, scope: Scope): Promise<boolean>;
  /**
   * Called in its own transaction after a round failed and was rolled back, to postpone the failed work. Not called if the database or another
   * service was unavailable.
   */
  failed?(call: WorkCall<Resources>, error: unknown): Promise<void>;
}

/** Resources of a process for its consumers and jobs. */
export interface WorkContext<Resources> {
  sql: Database;
  log: Logger;
  /** The time of the account whose work is in progress; real time without a sandbox clock or an account. */
  clock: () => Date;
  clocks: Clocks;
  clockWork: ClockWork;
  resources: Resources;
  accounts: AccountDirectory;
  queues: Queues;
  watch: Pick<DueWatch, 'run' | 'lookSoon'>;
  /** Reports that a transaction with events has committed. */
  eventsCommitted(): void;
}

/** Thrown by a round that leaves its work to others. It is rolled back without a failure, and the next round follows at once. */
export class RoundAbandoned extends Error {}

/** Work needs accounts that are not cached, whose ids are its cause. They are fetched outside the transaction. */
class UnknownAccounts extends Error {}

const maxRounds = 10;

type Work<Resources, Result> = (call: WorkCall<Resources>) => Promise<Result>;

/** Runs `work` with its events in one transaction, which holds the changes of `accountId`, if given. Reports the commit. */
export async function inWorkTransaction<Resources, Result>(
  context: WorkContext<Resources>,
  work: Work<Resources, Result>,
  accountId?: string,
): Promise<Result> {
  for (let round = 1; ; round++) {
    try {
      return await runOnce(context, work, accountId);
    } catch (error) {
      if (!(error instanceof UnknownAccounts) || round === maxRounds) throw error;
      await context.accounts.fetch(error.cause as string[]);
    }
  }
}

async function runOnce<Resources, Result>(
  context: WorkContext<Resources>,
  work: Work<Resources, Result>,
  accountId: string | undefined,
) {
  const events: OutboxRow[] = [];
  let written = 0;
  const { sql, log, clocks, resources, accounts } = context;
  const run = async (tx: Sql) => {
    const real = clocks.real();
    const now = clocks.now(real);
    const nowOf = (id: string) => clocks.nowOf(id, real);
    return await work({
      tx,
      now,
      log,
      resources,
      findAccounts: (ids) => knownAccounts(accounts, ids),
      nowOf,
      emit(event, account, data, trace) {
        const row = outboxRow(event, account, data, nowOf(account.id), trace);
        events.push(row);
        return row.id;
      },
      async emitEach(event, account, rows) {
        const count = await writeOutboxOf(tx, event, account, rows, nowOf(account.id));
        written += count;
        return count;
      },
    });
  };
  const result = await inTransaction(sql, run, {
    ...(accountId === undefined ? {} : { first: lockChanges(accountId) }),
    last: (tx) => (events.length > 0 ? [writeOutbox(tx, events)] : []),
  });
  if (events.length + written > 0) context.eventsCommitted();
  context.watch.lookSoon();
  return result;
}

function knownAccounts(accounts: AccountDirectory, ids: string[]): ReadonlyMap<string, AccountContext> {
  const known = [...new Set(ids)].map((id) => ({ id, account: accounts.known(id) }));
  const unknown = known.filter(({ account }) => account === undefined);
  if (unknown.length > 0) throw new UnknownAccounts('accounts are unknown', { cause: unknown.map(({ id }) => id) });
  return new Map(known.flatMap(({ id, account }) => (account ? [[id, account]] : [])));
}

/** Longest pause after a failed round. */
const slowestRetryMs = 60_000;

/** Runs one job until stopped. By real time, a loop sleeps until rows are due; by sandbox clocks, it runs for due rows. */
export function startJob<Resources>(job: Job<Resources>, context: WorkContext<Resources>): Pick<WakeLoop, 'stop'> {
  const { everyMs, queue } = job;
  const { queues, clockWork, watch } = context;
  const log = context.log.child({ job: job.name });
  const own = { ...context, log };
  const round = async (account?: string) => {
    const paused = queues.pauses.of(queue?.queue);
    if (paused.isWhole) return false;
    const scope = { ...paused, account };
    try {
      return await inWorkTransaction(own, (call) => job.run(call, scope));
    } catch (error) {
      if (error instanceof RoundAbandoned) return true;
      if (queue) queues.noteError(queue.queue, error);
      if (job.failed && !isUnavailable(error)) await inWorkTransaction(own, (call) => job.failed!(call, error));
      throw error;
    }
  };
  const rows = job.due ?? queue?.rows;
  const unregister = rows && clockWork.register({ queue: queue?.queue, rows, take: round });
  const watched = job.watched ?? (rows ? [rows] : []);
  const pace = { name: job.name, everyMs, slowestRetryMs, log };
  const run = () => round();
  const loop = watched.length > 0 ? watch.run({ ...pace, rows: watched }, run) : new WakeLoop(job.name, pace, run);
  return {
    async stop() {
      unregister?.();
      await loop.stop();
    },
  };
}
