import type { JsonValue, Sql } from '@customer-platform/service-kit';
import type { AttemptState } from './message-state.ts';
import { type MessageRow, messageColumns, messageNeighbours } from './messages.sql.ts';

/** An attempt of a message. */
export interface AttemptRow extends AttemptState {
  account_id: string;
  message_id: string;
  id: string;
  provider: string;
}

/** Names one message. */
export interface MessageRef {
  account_id: string;
  message_id: string;
}

/** Attempts with their receipts, of one message or of several, each first to last. */
export async function selectAttempts(sql: Sql, refs: readonly MessageRef[]): Promise<AttemptRow[]> {
  const rows = await sql<(AttemptRow & { receipts: { at: string }[] | null })[]>`
    select a.*, (
      select jsonb_agg(jsonb_build_object('status', r.status, 'at', r.at, 'applied', r.applied) order by r.id)
      from receipts r where r.account_id = a.account_id and r.message_id = a.message_id and r.number = a.number) as receipts
    from (select distinct * from ${unnested(sql, refs)}) as named
    join attempts a on a.account_id = named.account_id and a.message_id = named.message_id
    order by a.account_id, a.message_id, a.number`;
  return rows.map((row) => ({
    ...row,
    receipts: (row.receipts ?? []).map((receipt) => ({ ...receipt, at: new Date(receipt.at) })),
  }));
}

/** A message under its lock, with its attempts. */
export interface LockedMessage extends MessageRow {
  attempts: AttemptRow[];
}

/** Locks messages in the order of their ids, and reads them as they are then. */
export async function lockMessages(tx: Sql, refs: readonly MessageRef[]): Promise<LockedMessage[]> {
  const locked = tx`
    select 1 from (select distinct * from ${unnested(tx, refs)}) as named
    join messages m on m.account_id = named.account_id and m.id = named.message_id
    order by m.account_id, m.id for update of m`.execute();
  const messages = tx<MessageRow[]>`
    select ${messageColumns(tx)} from (select distinct * from ${unnested(tx, refs)}) as named
    join messages m on m.account_id = named.account_id and m.id = named.message_id ${messageNeighbours(tx)}`.execute();
  const [, rows, attempts] = await Promise.all([locked, messages, selectAttempts(tx, refs)]);
  const byMessage = Map.groupBy(attempts, ({ account_id, message_id }) => `${account_id} ${message_id}`);
  return rows.map((row) => ({ ...row, attempts: byMessage.get(`${row.account_id} ${row.id}`) ?? [] }));
}

const unnested = (sql: Sql, refs: readonly MessageRef[]) => sql`
  unnest(${refs.map(({ account_id }) => account_id)}::uuid[], ${refs.map(({ message_id }) => message_id)}::uuid[])
    as given (account_id, message_id)`;

/** Writes what changed of locked messages, of all of them in one statement a table. */
export async function saveMessages(tx: Sql, messages: readonly LockedMessage[]): Promise<void> {
  const rows = messages.map(({ attempts: _, steps: __, trace: ___, ...row }) => row);
  const attempts = messages.flatMap((message) =>
    message.attempts.map((attempt) => ({ ...attempt, account_id: message.account_id, message_id: message.id })),
  );
  const receipts = attempts.flatMap(({ account_id, message_id, number, receipts }) =>
    receipts.map((receipt) => ({ account_id, message_id, number, ...receipt })),
  );
  const statements = [
    tx`
      update messages m set status = new.status, step = new.step, sent_at = new.sent_at, delivered_at = new.delivered_at,
        read_at = new.read_at, failed_at = new.failed_at, error_code = new.error_code, error_message = new.error_message,
        event_ids = new.event_ids
      from jsonb_to_recordset(${json(tx, rows)}) as new (account_id uuid, id uuid, status text, step smallint,
        sent_at timestamptz, delivered_at timestamptz, read_at timestamptz, failed_at timestamptz, error_code text,
        error_message text, event_ids uuid[])
      where m.account_id = new.account_id and m.id = new.id`,
    tx`
      insert into attempts (account_id, message_id, number, channel, provider, address, status, reason, provider_id, tries, started_at,
        finished_at, due_at, running_since, falls_back_at)
      select account_id, message_id, number, channel, coalesce(provider, ''), address, status, reason, provider_id, tries, started_at,
        finished_at, due_at, running_since, falls_back_at
      from jsonb_to_recordset(${json(tx, attempts)}) as new (account_id uuid, message_id uuid, number smallint, channel text,
        provider text, address text, status text, reason text, provider_id text, tries smallint, started_at timestamptz,
        finished_at timestamptz, due_at timestamptz, running_since timestamptz, falls_back_at timestamptz)
      on conflict (account_id, message_id, number) do update set address = excluded.address, status = excluded.status,
        reason = excluded.reason, provider_id = excluded.provider_id, tries = excluded.tries, started_at = excluded.started_at,
        finished_at = excluded.finished_at, due_at = excluded.due_at, running_since = excluded.running_since,
        falls_back_at = excluded.falls_back_at`,
    tx`
      insert into receipts (account_id, message_id, number, status, at, applied)
      select account_id, message_id, number, status, at, applied
      from jsonb_to_recordset(${json(tx, receipts)}) as new (account_id uuid, message_id uuid, number smallint, status text,
        at timestamptz, applied boolean)
      on conflict do nothing`,
  ];
  await Promise.all(statements.slice(0, receipts.length > 0 ? 3 : 2).map((statement) => statement.execute()));
}

function json(tx: Sql, rows: readonly object[]) {
  return tx.json(rows as unknown as JsonValue);
}
