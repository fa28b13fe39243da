import { randomUUIDv7 } from 'node:crypto';
import {
  type AccountContext,
  ApiError,
  type Envelope,
  type EventData,
  type EventDefinition,
} from '@customer-platform/contracts/core';
import { JetStreamApiError } from '@nats-io/jetstream';
import { errors } from '@nats-io/transport-node';
import { AccountPace } from './account-pace.ts';
import type { EventCarrier } from './bus.ts';
import { type Database, inTransaction, type Sql, serviceUnavailable } from './database.ts';
import { failedTry } from './failed-try.ts';
import type { Logger } from './logging.ts';
import {
  buryEvent,
  lockOutbox,
  lockOutboxOf,
  lockRelay,
  movePublished,
  nextAccounts,
  type OutboxRow,
  outboxRows,
  postponeEvent,
  type StoredRow,
} from './outbox.sql.ts';
import type { QueueSeat, Queues } from './queues/queues.ts';
import { activeTrace, inSpan, SpanKind, type TraceHeaders, traceHeaders } from './telemetry.ts';
import { WakeLoop } from './wake-loop.ts';
import { formatInstant } from './zoned-time.ts';

export type { OutboxRow } from './outbox.sql.ts';

/** Events that go to the bus in one round, and about how many bytes of them are in memory at once. */
const batchSize = 500;
const batchBytes = 8_388_608;
/** The largest envelope, in bytes: a message of the bus has at most 1 MiB, headers included. */
const maxEnvelopeBytes = 921_600;
/** Poll interval: finds what a process left that died after its commit. */
const pollMs = 1_000;

/**
 * Events of one account that go to the bus in a second, larger ones counted by 4 KiB: below what consumers take, so that those of others
 * never wait long behind what one account changes at once, neither here nor in the stream.
 */
const perAccountASecond = 1_000;
const countedBytes = 4_096;

/** Time that commits are gathered before their events are carried: a round costs a transaction, whatever it carries. */
const gatherMs = 8;

/** The account whose event it is: what the envelope needs of it. */
export type EventAccount = Pick<AccountContext, 'id' | 'mode' | 'timezone'>;

/** Publishes one event with the transaction it is called in: both commit or neither does. Returns the event's id. */
export type Emit<Definition extends EventDefinition> = <Event extends Definition>(
  event: Event,
  data: EventData<Event>,
) => string;

/**
 * Makes the row of one event: the envelope with a new id (UUID v7), its time in the account's zone, and its trace. Throws an ApiError
 * invalid_request where the envelope has more than 900 KiB, which the bus would not carry.
 */
export function outboxRow(
  event: EventDefinition,
  account: EventAccount,
  data: unknown,
  now: Date,
  trace: TraceHeaders | null = activeTrace(),
): OutboxRow {
  const id = randomUUIDv7();
  const content: Envelope = {
    id,
    type: event.kind,
    timestamp: formatInstant(now, account.timezone),
    account: account.id,
    mode: account.mode,
    data,
  };
  const envelope = JSON.stringify(content);
  if (Buffer.byteLength(envelope) > maxEnvelopeBytes) throw tooLarge(event.kind);
  return {
    account_id: account.id,
    id,
    kind: event.kind,
    audience: event.audience,
    envelope,
    trace: trace?.traceparent ? trace : null,
  };
}

/** The refusal of a resource that its module's own bounds should have refused by the name of a field. */
function tooLarge(kind: string): ApiError {
  const message = `body must be smaller: the resource and its previous values must stay below 900 KiB together (${kind})`;
  return new ApiError('invalid_request', message, { field: 'body' });
}

/** Writes rows in the transaction that `tx` is: one statement for any number. */
export async function writeOutbox(tx: Sql, rows: OutboxRow[]): Promise<void> {
  if (rows.length === 0) return;
  await tx`
    insert into outbox (account_id, id, kind, audience, envelope, trace)
    select account_id, id, kind, audience, envelope, trace::jsonb
    from unnest(${rows.map((row) => row.account_id)}::uuid[], ${rows.map((row) => row.id)}::uuid[],
      ${rows.map((row) => row.kind)}::text[], ${rows.map((row) => row.audience)}::text[],
      ${rows.map((row) => row.envelope)}::text[],
      ${rows.map((row) => (row.trace ? JSON.stringify(row.trace) : null))}::text[]
    ) with ordinality as event (account_id, id, kind, audience, envelope, trace, position)
    order by position`;
}

/**
 * Writes one event for each row of `rows`, in one statement whatever their number; nothing of them comes into this process.
 * `rows` selects one column `data`: what the event holds, as json. Returns how many there were.
 */
export async function writeOutboxOf(
  tx: Sql,
  event: EventDefinition,
  account: EventAccount,
  rows: ReturnType<Sql>,
  now: Date,
): Promise<number> {
  const trace = activeTrace();
  const { kind, audience } = event;
  const timestamp = formatInstant(now, account.timezone);
  // The keys that outboxRow gives an envelope, in their order; the id comes in front, the data at the end.
  const rest = JSON.stringify({ type: kind, timestamp, account: account.id, mode: account.mode }).slice(1, -1);
  const result = await tx`
    insert into outbox (account_id, id, kind, audience, envelope, trace)
    select ${account.id}, made.id, ${kind}, ${audience},
      '{"id":"' || made.id || '",' || ${rest}::text || ',"data":' || made.data::text || '}',
      ${trace && JSON.stringify(trace)}::text::jsonb
    from (select uuidv7() as id, each.data from (${rows}) as each) as made`;
  return result.count;
}

/** A row that the bus would not carry, and why. */
interface Refusal {
  row: StoredRow;
  error: unknown;
}

/**
 * Carries committed events to the bus, oldest first, and moves them to `published` once the bus has acknowledged them. The message id is
 * the event id, so that a round that is repeated after a crash is deduplicated; any number of relays may run. An account with more than
 * 1,000 events in a second waits, and nobody behind it; after a full round the next one takes events of each account. A row that the bus will not carry is tried again later, ten times in all, and is
 * dead then; the others go on.
 */
export class OutboxRelay {
  readonly #sql: Database;
  readonly #bus: EventCarrier;
  readonly #log: Logger;
  readonly #loop: WakeLoop;
  readonly #pace = new AccountPace(perAccountASecond);
  readonly #seat: QueueSeat;
  #lastAccount: string | undefined;
  #wasFull = false;
  #resume: NodeJS.Timeout | undefined;

  /** Starts relaying. */
  constructor(sql: Database, bus: EventCarrier, { log, queues }: { log: Logger; queues: Queues }) {
    this.#sql = sql;
    this.#bus = bus;
    this.#log = log;
    this.#seat = queues.open({
      queue: 'outbox',
      rows: outboxRows,
      hasFailedEvents: true,
      changed: () => this.wake(),
    });
    const pace = { everyMs: pollMs, slowestRetryMs: pollMs, gatherMs };
    this.#loop = new WakeLoop('outbox', { ...pace, log }, () => this.#publishBatch());
  }

  /** Says that a transaction with events has committed. */
  wake(): void {
    this.#loop.wake();
  }

  async stop(): Promise<void> {
    await this.#loop.stop();
    clearTimeout(this.#resume);
    this.#seat.close();
  }

  /** Carries one batch; returns whether more may be waiting. While the bus is unavailable there is nothing to do but look again. */
  async #publishBatch(): Promise<boolean> {
    if (!this.#bus.isConnected()) return false;
    const { isWhole, accounts: paused } = this.#seat.paused();
    if (isWhole) return false;
    const waiting = this.#pace.waiting();
    if (waiting.length > 0) {
      clearTimeout(this.#resume);
      this.#resume = setTimeout(() => this.wake(), this.#pace.waitMs());
    }
    return await inTransaction(this.#sql, async (tx) => {
      await lockRelay(tx);
      const leftOut = [...waiting, ...paused];
      const isByAccount = leftOut.length > 0 || this.#wasFull;
      const { rows, hasMore } = isByAccount ? await this.#lockByAccount(tx, leftOut) : await lockOldest(tx);
      this.#wasFull = !isByAccount && hasMore;
      if (rows.length === 0) return hasMore;
      const results = await Promise.allSettled(rows.map((row) => this.#publish(row)));
      const refusals = rows.flatMap((row, index): Refusal[] => {
        const result = results[index]!;
        return result.status === 'rejected' ? [{ row, error: result.reason }] : [];
      });
      // Where nothing goes, it is the bus: then no row is to blame.
      const others = refusals.filter(({ error }) => !isOwnFault(error));
      if (refusals.length === rows.length && others.length > 0) throw others[0]!.error;
      const carried = [...new Set(rows).difference(new Set(refusals.map(({ row }) => row)))];
      await movePublished(tx, carried);
      for (const { account_id, envelope } of carried) {
        this.#pace.spend(account_id, Math.max(1, Buffer.byteLength(envelope) / countedBytes));
      }
      for (const { row, error } of refusals) await this.#setAside(tx, row, error);
      // What committed meanwhile has woken the next round: it gathers, instead of a round for each event or two.
      return hasMore;
    });
  }

  /** Locks events of accounts that are not left out, 200 accounts at a time in turn. */
  async #lockByAccount(tx: Sql, leftOut: readonly string[]): Promise<Batch> {
    const { accounts, next } = await nextAccounts(tx, this.#lastAccount);
    this.#lastAccount = next;
    const others = [...new Set(accounts).difference(new Set(leftOut))];
    const rows = others.length > 0 ? await lockOutboxOf(tx, others, batchSize, batchBytes) : [];
    // Behind the last account the next look begins with the first.
    return { rows, hasMore: rows.length > 0 || next !== undefined };
  }

  async #setAside(tx: Sql, row: StoredRow, error: unknown): Promise<void> {
    // A try counts that the bus refused for what the event is; else it is a day's patience, as with other services.
    const cause = isOwnFault(error) ? error : serviceUnavailable(`the bus did not take it: ${String(error)}`, error);
    const next = failedTry(cause, row.tries + 1, row.created_at, new Date());
    this.#seat.failed(error);
    if (next.dueAt) {
      await postponeEvent(tx, row, next);
      return;
    }
    const { id, kind, account_id } = row;
    this.#log.error(
      { err: error, event_id: id, kind, account: account_id },
      'an event is dead: the bus does not carry it',
    );
    await buryEvent(tx, row, this.#bus.subjectOf(row), next);
  }

  #publish(row: StoredRow): Promise<void> {
    return inSpan(
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

interface Batch {
  rows: StoredRow[];
  /** More may be waiting. */
  hasMore: boolean;
}

async function lockOldest(tx: Sql): Promise<Batch> {
  const rows = await lockOutbox(tx, batchSize, batchBytes);
  const bytes = rows.reduce((sum, row) => sum + Buffer.byteLength(row.envelope), 0);
  return { rows, hasMore: rows.length === batchSize || bytes >= batchBytes };
}

/** JetStream's code for a message that is larger than the stream takes. */
const messageTooLarge = 10_054;

/** Returns whether the bus refused an event for what it is, rather than for the state of the bus. */
function isOwnFault(error: unknown): boolean {
  const { InvalidArgumentError, InvalidSubjectError } = errors;
  if (error instanceof InvalidArgumentError || error instanceof InvalidSubjectError) return true;
  return error instanceof JetStreamApiError && error.code === messageTooLarge;
}
