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

/** The largest envelope, in bytes: a message of the bus has at most 1 MiB, headers included. */
const maxEnvelopeBytes = 921_600;
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
