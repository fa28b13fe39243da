import { randomUUIDv7 } from 'node:crypto';
import {
  type AccountContext,
  ApiError,
  type Envelope,
  type EventData,
  type EventDefinition,
} from '@customer-platform/contracts/core';
import type { Sql, Unsent } from '../database/database.ts';
import { activeTrace, type TraceHeaders } from '../telemetry/telemetry.ts';
import { formatInstant } from '../values/zoned-time.ts';
import type { OutboxRow } from './outbox.sql.ts';

export type { OutboxRow } from './outbox.sql.ts';

/** Maximum size of an envelope in bytes. A message on the bus has at most 1 MiB, including headers. */
const maxEnvelopeBytes = 921_600;
/** The fields of an event's account that its envelope needs. */
export type EventAccount = Pick<AccountContext, 'id' | 'mode' | 'timezone'>;

/** Publishes one event in the current transaction: both commit or neither does. Returns the event's id. */
export type Emit<Definition extends EventDefinition> = <Event extends Definition>(
  event: Event,
  data: EventData<Event>,
) => string;

/**
 * Returns the row of one event with its envelope and trace. The envelope has a new id (UUID v7) and its time in the account's zone. Throws ApiError
 * invalid_request if the envelope exceeds 900 KiB, which the bus would reject.
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

/** Returns the error for a resource that is too large for an event. The service's own limits should catch it earlier and name the field. */
function tooLarge(kind: string): ApiError {
  const message = `body must be smaller: the resource and its previous values must stay below 900 KiB together (${kind})`;
  return new ApiError('invalid_request', message, { field: 'body' });
}

/** Writes any number of rows in one statement, in the transaction `tx`. */
export function writeOutbox(tx: Sql, rows: readonly OutboxRow[]): Unsent {
  return tx`
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
 * Writes one event for each row of `rows`, in one statement that does not read the rows into this process.
 * `rows` selects one column `data`, the event's data as JSON. Returns the number of rows.
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
  // The keys of outboxRow's envelope, in the same order; the id comes first, the data last.
  const rest = JSON.stringify({ type: kind, timestamp, account: account.id, mode: account.mode }).slice(1, -1);
  const result = await tx`
    insert into outbox (account_id, id, kind, audience, envelope, trace)
    select ${account.id}, made.id, ${kind}, ${audience},
      '{"id":"' || made.id || '",' || ${rest}::text || ',"data":' || made.data::text || '}',
      ${trace && JSON.stringify(trace)}::text::jsonb
    from (select uuidv7() as id, each.data from (${rows}) as each) as made`;
  return result.count;
}
