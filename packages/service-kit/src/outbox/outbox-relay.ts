import { JetStreamApiError } from '@nats-io/jetstream';
import { errors } from '@nats-io/transport-node';
import type { Bus } from '../bus/bus.ts';
import { type Database, inTransaction, type Sql } from '../database/database.ts';
import type { DueWatch } from '../due-work/due-watch.ts';
import type { QueueMembership, Queues } from '../queues/queues.ts';
import type { Logger } from '../telemetry/logging.ts';
import { inSpan, SpanKind, traceHeaders } from '../telemetry/telemetry.ts';
import type { WakeLoop } from '../timing/wake-loop.ts';
import { deadEvents, failedAttempt } from './failed-attempt.ts';
import {
  lockOutbox,
  lockRelay,
  moveDeadEvents,
  movePublished,
  noteServer,
  outboxRows,
  postponeEvents,
  type RefusedRow,
  type StoredRow,
} from './outbox.sql.ts';

/** Pause before a retry of events left by an unavailable bus, or by a process that died after its commit. */
const retryMs = 1_000;

/** Dependencies of the relay besides its database. */
interface RelayParts {
  bus: Pick<Bus, 'isConnected' | 'ready' | 'server' | 'onReconnect' | 'subjectOf' | 'publish'>;
  log: Logger;
  queues: Pick<Queues, 'open'>;
  watch: Pick<DueWatch, 'run'>;
}

/**
 * Publishes committed events, oldest first per account, and moves them to `published` once the bus acknowledges them. The message id is the event
 * id, so the bus deduplicates a round that is repeated after a crash. Any number of relays may run; one publishes at a time. A round takes at most
 * 100 events per account, and 500 events and about 2 MiB of 200 accounts in turn. Events left when the connection breaks come first in the next round. An event that the bus itself
 * rejects gets ten attempts and is then dead; other events continue.
 */
export class OutboxRelay {
  readonly #sql: Database;
  readonly #bus: RelayParts['bus'];
  readonly #log: Logger;
  readonly #loop: Pick<WakeLoop, 'wake' | 'stop'>;
  readonly #membership: QueueMembership;
  #lastAccount: string | undefined;
  /** The server that was recorded last. */
  #server: string | undefined;

  /** Starts relaying. */
  constructor(sql: Database, { bus, log, queues, watch }: RelayParts) {
    this.#sql = sql;
    this.#bus = bus;
    this.#log = log;
    this.#membership = queues.open({
      queue: 'outbox',
      rows: outboxRows,
      hasFailedEvents: true,
      changed: () => this.wake(),
    });
    const looks = { everyMs: retryMs, slowestRetryMs: retryMs, log };
    // Few events wait at any time, and no index has their due times, so the watch only checks for rows.
    const rows = [{ name: 'outbox', due: null }];
    this.#loop = watch.run({ name: 'outbox', rows, ...looks }, () => this.#publishBatch());
    bus.onReconnect(() => this.wake());
    // The server may differ from the one at the last start.
    this.wake();
  }

  /** Reports that a transaction with events has committed. */
  wake(): void {
    this.#loop.wake();
  }

  async stop(): Promise<void> {
    await this.#loop.stop();
    this.#membership.close();
  }

  /** Publishes one batch; returns whether more may be waiting. While the bus is unavailable, it only waits for the next look. */
  async #publishBatch(): Promise<boolean> {
    if (!this.#bus.isConnected()) return false;
    const { isWhole, accounts: paused } = this.#membership.paused();
    if (isWhole) return false;
    // Waits outside a transaction for a bus that does not respond.
    await this.#bus.ready();
    await this.#noteServer();
    const { hasMore } = await inTransaction(this.#sql, (tx) => this.#publishIn(tx, paused), {
      last: (tx, { carried }) => (carried.length > 0 ? [movePublished(tx, carried)] : []),
    });
    return hasMore;
  }

  /** Asks for recent events to be sent again if NATS was restarted. After a power loss it may lack events that it acknowledged. */
  async #noteServer(): Promise<void> {
    const server = this.#bus.server();
    if (server === undefined || server === this.#server) return;
    const isResent = await noteServer(this.#sql, server);
    // When a process starts, NATS may have been stopped and started together with it as planned.
    const level = this.#server === undefined ? 'info' : 'warn';
    this.#server = server;
    if (isResent) this.#log[level]('NATS was restarted; the events published in the minutes before are sent again');
  }

  async #publishIn(tx: Sql, paused: readonly string[]) {
    // Both queries are sent together. PostgreSQL takes the lock before it looks for rows.
    const [, { rows, isCut, last }] = await Promise.all([
      lockRelay(tx),
      lockOutbox(tx, { last: this.#lastAccount, paused }),
    ]);
    this.#lastAccount = last;
    // After the last account, the next round begins with the first.
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
    // If nothing gets through, the bus is at fault and the round is repeated. Otherwise the rest goes first in the next round, to keep the order.
    if (left !== undefined && carried.length + refused.length === 0) throw left;
    if (left !== undefined) this.#membership.failed(left);
    await this.#postpone(tx, refused);
    return { hasMore, carried };
  }

  /** Postpones rejected rows to their next attempt, or makes them dead. */
  async #postpone(tx: Sql, refused: readonly RefusedRow[]): Promise<void> {
    for (const { next } of refused) this.#membership.failed(next.reason);
    const [dead, later] = [refused.filter(({ next }) => !next.dueAt), refused.filter(({ next }) => next.dueAt)];
    await postponeEvents(tx, later);
    await moveDeadEvents(
      tx,
      dead,
      dead.map(({ row }) => this.#bus.subjectOf(row)),
    );
    for (const { row, next } of dead) {
      deadEvents.add(1, { queue: 'outbox' });
      const facts = { reason: next.reason, event_id: row.id, kind: row.kind, account: row.account_id };
      this.#log.error(facts, 'an event is dead: the bus rejects it');
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
  return { row, next: failedAttempt(error, row.tries + 1, row.created_at, new Date()) };
}

const { InvalidArgumentError, InvalidSubjectError } = errors;
/** JetStream's error code for a message above the size limit of the stream. */
const messageTooLarge = 10_054;

/** Returns whether the bus rejected an event for what it is, rather than for the state of the bus. */
function isOwnFault(error: unknown): boolean {
  if (error instanceof InvalidArgumentError || error instanceof InvalidSubjectError) return true;
  return error instanceof JetStreamApiError && error.code === messageTooLarge;
}
