import { randomUUIDv7 } from 'node:crypto';
import type { AccountContext, Envelope, EventData, EventDefinition } from '@customer-platform/contracts/core';
import type { Bus } from './bus.ts';
import { type Database, inTransaction, type Sql } from './database.ts';
import type { Logger } from './logging.ts';
import { activeTrace, inSpan, meter, SpanKind, type TraceHeaders, traceHeaders } from './telemetry.ts';
import { WakeLoop } from './wake-loop.ts';
import { formatInstant } from './zoned-time.ts';

/** How many events go to the bus in one round. */
const batchSize = 500;
/** How often the relay looks without being woken: finds what a process left that died after its commit. */
const pollMs = 1_000;

/** How long it gathers commits before it carries their events: a round costs a transaction, whatever it carries. */
const gatherMs = 8;

/** The account whose event it is: what the envelope needs of it. */
export type EventAccount = Pick<AccountContext, 'id' | 'mode' | 'timezone'>;

/** An event that waits for its transaction's commit. */
export interface OutboxRow {
  account_id: string;
  id: string;
  kind: string;
  audience: string;
  envelope: string;
  trace: TraceHeaders | null;
}

/** Publishes one event with the transaction it is called in: both commit or neither does. Answers the event's id. */
export type Emit<Definition extends EventDefinition> = <Event extends Definition>(
  event: Event,
  data: EventData<Event>,
) => string;

/** Makes the row of one event: the envelope with a new id (UUID v7), its time in the account's zone, and its trace. */
export function outboxRow(
  event: EventDefinition,
  account: EventAccount,
  data: unknown,
  now: Date,
  trace: TraceHeaders | null = activeTrace(),
): OutboxRow {
  const id = randomUUIDv7();
  const envelope: Envelope = {
    id,
    type: event.kind,
    timestamp: formatInstant(now, account.timezone),
    account: account.id,
    mode: account.mode,
    data,
  };
  return {
    account_id: account.id,
    id,
    kind: event.kind,
    audience: event.audience,
    envelope: JSON.stringify(envelope),
    trace: trace?.traceparent ? trace : null,
  };
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
 * `rows` selects one column `data`: what the event holds, as json. Answers how many there were.
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

interface StoredRow extends OutboxRow {
  sequence: number;
}

/**
 * Carries committed events to the bus, oldest first, and deletes them once the bus has acknowledged them. The message id is
 * the event id, so that a round that is repeated after a crash is deduplicated; any number of relays may run.
 */
export class OutboxRelay {
  readonly #sql: Database;
  readonly #bus: Bus;
  readonly #loop: WakeLoop;

  /** Starts relaying. */
  constructor(sql: Database, bus: Bus, log: Logger) {
    this.#sql = sql;
    this.#bus = bus;
    const pace = { everyMs: pollMs, slowestRetryMs: pollMs, gatherMs };
    this.#loop = new WakeLoop('outbox', { ...pace, log }, () => this.#publishBatch());
    const pending = meter.createObservableGauge('outbox.pending', { description: 'Events not yet on the bus.' });
    const age = meter.createObservableGauge('outbox.oldest_age', {
      unit: 's',
      description: 'Age of the oldest of them.',
    });
    meter.addBatchObservableCallback(
      async (result) => {
        const [row] = await this.#sql<{ pending: number; age: number }[]>`
          select count(*)::int as pending, coalesce(extract(epoch from now() - min(created_at)), 0)::float8 as age from outbox`;
        result.observe(pending, row!.pending);
        result.observe(age, row!.age);
      },
      [pending, age],
    );
  }

  /** Says that a transaction with events has committed. */
  wake(): void {
    this.#loop.wake();
  }

  async stop(): Promise<void> {
    await this.#loop.stop();
  }

  /** One round; answers whether more may be waiting. While the bus is away there is nothing to do but look again. */
  async #publishBatch(): Promise<boolean> {
    if (!this.#bus.isConnected()) return false;
    return await inTransaction(this.#sql, async (tx) => {
      const rows = await tx<StoredRow[]>`
        select sequence, account_id, id, kind, audience, envelope, trace from outbox
        order by sequence limit ${batchSize} for update skip locked`;
      if (rows.length === 0) return false;
      await Promise.all(rows.map((row) => this.#publish(row)));
      await tx`delete from outbox where sequence = any(${rows.map((row) => row.sequence)}::bigint[])`;
      return rows.length === batchSize;
    });
  }

  #publish(row: StoredRow): Promise<void> {
    return inSpan(
      `publish ${row.kind}`,
      {
        kind: SpanKind.PRODUCER,
        attributes: { 'messaging.system': 'nats', 'messaging.message.id': row.id },
        parent: row.trace ?? undefined,
      },
      () => this.#bus.publish({ ...row, trace: row.trace ? traceHeaders() : undefined }),
    );
  }
}
