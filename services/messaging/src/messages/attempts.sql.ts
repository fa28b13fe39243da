import { joinContact } from '@customer-platform/contact-copy';
import { type JsonValue, readUnderLock, type Sql } from '@customer-platform/service-kit';
import type { AttemptState } from './message-state.ts';
import { type MessageRow, messageColumns } from './messages.sql.ts';

/** An attempt of a message: one channel with its calls of the provider. */
export interface AttemptRow extends AttemptState {
  account_id: string;
  message_id: string;
  id: string;
  provider: string;
}

/** Reference to a message. */
export interface MessageRef {
  account_id: string;
  message_id: string;
}

/** Selects the attempts of message `m` as JSON, in order. */
const attemptsOf = (sql: Sql) => sql`(
  select jsonb_agg(to_jsonb(a) || jsonb_build_object('receipts', coalesce((
    select jsonb_agg(jsonb_build_object('status', r.status, 'at', r.at, 'applied', r.applied) order by r.id)
    from receipts r where r.account_id = a.account_id and r.message_id = a.message_id and r.number = a.number), '[]')) order by a.number)
  from attempts a where a.account_id = m.account_id and a.message_id = m.id)`;

/** Converts times in attempts, which JSON represents as strings. */
function datedAttempts(attempts: readonly AttemptRow[]): AttemptRow[] {
  const dated = (instant: Date | null) => instant && new Date(instant);
  return attempts.map((attempt) => ({
    ...attempt,
    started_at: dated(attempt.started_at),
    finished_at: dated(attempt.finished_at),
    due_at: dated(attempt.due_at),
    running_since: dated(attempt.running_since),
    falls_back_at: dated(attempt.falls_back_at),
    held_until: dated(attempt.held_until),
    held_since: dated(attempt.held_since),
    receipts: attempt.receipts.map((receipt) => ({ ...receipt, at: new Date(receipt.at) })),
  }));
}

/** Returns a consistent snapshot of a message with its attempts; undefined if the account has no such message. */
export async function selectMessage(sql: Sql, accountId: string, id: string): Promise<WholeMessage | undefined> {
  const [row] = await sql<WholeMessage[]>`
    select ${messageColumns(sql)}, ${attemptsOf(sql)} as attempts from messages m ${joinContact(sql, 'm')}
    where m.account_id = ${accountId} and m.id = ${id}`;
  return row && { ...row, attempts: datedAttempts(row.attempts) };
}

/** A message with its attempts. */
export interface WholeMessage extends MessageRow {
  attempts: AttemptRow[];
}

/** Locks messages in id order, and returns them as of the lock. */
export async function lockMessages(tx: Sql, refs: readonly MessageRef[]): Promise<WholeMessage[]> {
  const lock = tx`
    select 1 from (select distinct * from ${unnested(tx, refs)}) as named
    join messages m on m.account_id = named.account_id and m.id = named.message_id
    order by m.account_id, m.id for update of m`;
  const messages = tx<WholeMessage[]>`
    select ${messageColumns(tx)}, ${attemptsOf(tx)} as attempts from (select distinct * from ${unnested(tx, refs)}) as named
    join messages m on m.account_id = named.account_id and m.id = named.message_id ${joinContact(tx, 'm')}`;
  const rows = await readUnderLock(lock, () => messages);
  return rows.map((row) => ({ ...row, attempts: datedAttempts(row.attempts) }));
}

const unnested = (sql: Sql, refs: readonly MessageRef[]) => sql`
  unnest(${refs.map(({ account_id }) => account_id)}::uuid[], ${refs.map(({ message_id }) => message_id)}::uuid[])
    as given (account_id, message_id)`;

/** Writes changes of locked messages, with one statement per table. */
export async function saveMessages(tx: Sql, messages: readonly WholeMessage[]): Promise<void> {
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
        finished_at, due_at, running_since, falls_back_at, held_until, held_since)
      select account_id, message_id, number, channel, coalesce(provider, ''), address, status, reason, provider_id, tries, started_at,
        finished_at, due_at, running_since, falls_back_at, held_until, held_since
      from jsonb_to_recordset(${json(tx, attempts)}) as new (account_id uuid, message_id uuid, number smallint, channel text,
        provider text, address text, status text, reason text, provider_id text, tries smallint, started_at timestamptz,
        finished_at timestamptz, due_at timestamptz, running_since timestamptz, falls_back_at timestamptz,
        held_until timestamptz, held_since timestamptz)
      on conflict (account_id, message_id, number) do update set address = excluded.address, status = excluded.status,
        reason = excluded.reason, provider_id = excluded.provider_id, tries = excluded.tries, started_at = excluded.started_at,
        finished_at = excluded.finished_at, due_at = excluded.due_at, running_since = excluded.running_since,
        falls_back_at = excluded.falls_back_at, held_until = excluded.held_until, held_since = excluded.held_since`,
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
