import { JetStreamApiError } from '@nats-io/jetstream';
import { errors } from '@nats-io/transport-node';
import type { Bus } from '../bus/bus.ts';
import { type Database, inTransaction, type Sql } from '../database/database.ts';
import type { DueWatch } from '../due-work/due-watch.ts';
import type { QueueSeat, Queues } from '../queues/queues.ts';
import type { Logger } from '../telemetry/logging.ts';
import { inSpan, SpanKind, traceHeaders } from '../telemetry/telemetry.ts';
import type { WakeLoop } from '../timing/wake-loop.ts';
import { deadEvents, failedTry } from './failed-try.ts';
import {
  buryEvents,
  lockOutbox,
  lockRelay,
  movePublished,
  noteServer,
  outboxRows,
  postponeEvents,
  type RefusedRow,
  type StoredRow,
} from './outbox.sql.ts';

/** Pause before what was left is tried again: what the bus did not take, and what a process left that died after its commit. */
const againMs = 1_000;

/** Dependencies of the relay beside its database. */
interface RelayParts {
  bus: Pick<Bus, 'isConnected' | 'ready' | 'server' | 'onBack' | 'subjectOf' | 'publish'>;
  log: Logger;
  queues: Pick<Queues, 'open'>;
  watch: Pick<DueWatch, 'run'>;
}

/**
 * Carries committed events to the bus, those of an account oldest first, and moves them to `published` once the bus has acknowledged them. The message id is
 * the event id, so that a round that is repeated after a crash is deduplicated; any number of relays may run. A round takes a
 * hundred events of an account at most, of 200 accounts in turn. What the bus did not take when it took others is first in the next round.
 * A row that it refuses for what it is, is tried again later, ten times in all, and is dead then; the others go on.
 */
export class OutboxRelay {
  readonly #sql: Database;
  readonly #bus: RelayParts['bus'];
  readonly #log: Logger;
  readonly #loop: Pick<WakeLoop, 'wake' | 'stop'>;
  readonly #seat: QueueSeat;
  #lastAccount: string | undefined;
  /** The server that is noted. */
  #server: string | undefined;

  /** Starts relaying. */
  constructor(sql: Database, { bus, log, queues, watch }: RelayParts) {
    this.#sql = sql;
    this.#bus = bus;
    this.#log = log;
    this.#seat = queues.open({ queue: 'outbox', rows: outboxRows, hasFailedEvents: true, changed: () => this.wake() });
    const looks = { everyMs: againMs, slowestRetryMs: againMs, log };
    // Few wait at any time, and no index has their due times: there are some, or there are none.
    const rows = [{ name: 'outbox', due: null }];
    this.#loop = watch.run({ name: 'outbox', rows, ...looks }, () => this.#publishBatch());
    bus.onBack(() => this.wake());
    // The server may be another than at the last start.
    this.wake();
  }

  /** Says that a transaction with events has committed. */
  wake(): void {
    this.#loop.wake();
  }

  async stop(): Promise<void> {
    await this.#loop.stop();
    this.#seat.close();
  }

  /** Carries one batch; returns whether more may be waiting. While the bus is unavailable there is nothing to do but look again. */
  async #publishBatch(): Promise<boolean> {
    if (!this.#bus.isConnected()) return false;
    const { isWhole, accounts: paused } = this.#seat.paused();
    if (isWhole) return false;
    // A bus that has stopped responding is waited for without a transaction.
    await this.#bus.ready();
    await this.#noteServer();
    const { hasMore } = await inTransaction(this.#sql, (tx) => this.#publishIn(tx, paused), {
      last: (tx, { carried }) => (carried.length > 0 ? [movePublished(tx, carried)] : []),
    });
    return hasMore;
  }

  /** Has what was published last sent again where NATS was started again: if its machine lost power, it may lack what it had acknowledged. */
  async #noteServer(): Promise<void> {
    const server = this.#bus.server();
    if (server === undefined || server === this.#server) return;
    const isSentAgain = await noteServer(this.#sql, server);
    // At the start of a process NATS may have stopped and started in order together with it.
    const level = this.#server === undefined ? 'info' : 'warn';
    this.#server = server;
    if (isSentAgain) this.#log[level]('NATS was started again; what was published in the minutes before is sent again');
  }

  async #publishIn(tx: Sql, paused: readonly string[]) {
    // Sent together: the lock is there before the rows are looked for.
    const [, { rows, isCut, last }] = await Promise.all([
      lockRelay(tx),
      lockOutbox(tx, { last: this.#lastAccount, paused }),
    ]);
    this.#lastAccount = last;
    // Behind the last account the next look begins with the first.
    const hasMore = isCut || last !== undefined;
    const carried: StoredRow[] = [];
    if (rows.length === 0) return { hasMore, carried };
    const results = await Promise.allSettled(rows.map((row) => this.#publish(row)));
    const refused: RefusedRow[] = [];
    let left: unknown;
    for (const [index, result] of results.entries()) {
      const row = rows[index]!;
      if (result.status === 'fulfilled') carried.push(row);
      else if (isOwnFault(result.reason)) refused.push(refusedRow(row, result.reason));
      else left ??= result.reason;
    }
    // Where nothing goes, it is the bus: the round is repeated. Where the connection broke on the way, the rest goes first in the next one: later changes must not overtake it.
    if (left !== undefined && carried.length + refused.length === 0) throw left;
    if (left !== undefined) this.#seat.failed(left);
    await this.#setBack(tx, refused);
    return { hasMore, carried };
  }

  /** Has rows that the bus refused for what they are wait for their next try, or be dead. */
  async #setBack(tx: Sql, refused: readonly RefusedRow[]): Promise<void> {
    for (const { next } of refused) this.#seat.failed(next.reason);
    const [dead, later] = [refused.filter(({ next }) => !next.dueAt), refused.filter(({ next }) => next.dueAt)];
    await postponeEvents(tx, later);
    await buryEvents(
      tx,
      dead,
      dead.map(({ row }) => this.#bus.subjectOf(row)),
    );
    for (const { row, next } of dead) {
      deadEvents.add(1, { queue: 'outbox' });
      const facts = { reason: next.reason, event_id: row.id, kind: row.kind, account: row.account_id };
      this.#log.error(facts, 'an event is dead: the bus does not carry it');
    }
  }

  async #publish(row: StoredRow): Promise<void> {
    await inSpan(
      `publish ${row.kind}`,
      {
        kind: SpanKind.PRODUCER,
        attributes: {
          'messaging.system': 'nats',
          'messaging.destination.name': row.kind,
          'messaging.operation.name': 'publish',
          'messaging.operation.type': 'send',
          'messaging.message.id': row.id,
          'platform.account': row.account_id,
        },
        parent: row.trace ?? undefined,
      },
      () => this.#bus.publish({ ...row, trace: row.trace ? traceHeaders() : undefined }),
    );
  }
}

function refusedRow(row: StoredRow, error: unknown): RefusedRow {
  return { row, next: failedTry(error, row.tries + 1, row.created_at, new Date()) };
}

const { InvalidArgumentError, InvalidSubjectError } = errors;
/** JetStream's code for a message that is larger than the stream takes. */
const messageTooLarge = 10_054;

/** Returns whether the bus refused an event for what it is, rather than for the state of the bus. */
function isOwnFault(error: unknown): boolean {
  if (error instanceof InvalidArgumentError || error instanceof InvalidSubjectError) return true;
  return error instanceof JetStreamApiError && error.code === messageTooLarge;
}
