import type { DeadRecord } from '@customer-platform/contracts/core';
import type { Sql } from '../database/database.ts';
import { noAccount } from '../values/no-account.ts';

/** Bytes of a dead event in one reply, which is one message on the bus. */
const partBytes = 524_288;

const columns = (sql: Sql) => sql`
  id, queue, subject, nullif(account_id, ${noAccount}) as account, kind, reason, tries, octet_length(bytes) as "sizeBytes",
  first_at as "firstAt", dead_at as "deadAt"`;

type DeadRow = Omit<DeadRecord, 'firstAt' | 'deadAt'> & { firstAt: Date; deadAt: Date };

/** Returns dead events, newest first; with `before`, only those that died earlier. */
export async function selectDeadEvents(sql: Sql, { before, limit, ...part }: DeadPage): Promise<DeadRecord[]> {
  const rows = await sql<DeadRow[]>`
    select ${columns(sql)} from failed_events
    where ${isOfPart(sql, part)}
      ${before ? sql`and (dead_at, id) < (${before.deadAt}::timestamptz, ${before.id}::uuid)` : sql``}
    order by dead_at desc, id desc limit ${limit}`;
  return rows.map(toRecord);
}

/** Returns a dead event with its headers; null if it does not exist. */
export async function selectDeadEvent(sql: Sql, id: string) {
  const [row] = await sql<(DeadRow & { headers: Record<string, string> })[]>`
    select ${columns(sql)}, headers from failed_events where id = ${id} and dead_at is not null`;
  return row ? { ...toRecord(row), headers: row.headers } : null;
}

/** Returns at most 512 KiB of a dead event's bytes from `offset`, in base64. Empty if the event does not exist. */
export async function selectDeadBytes(sql: Sql, id: string, offset: number): Promise<string> {
  const [row] = await sql<{ part: Buffer }[]>`
    select substring(bytes from ${offset + 1} for ${partBytes}) as part from failed_events where id = ${id} and dead_at is not null`;
  return row?.part.toString('base64') ?? '';
}

/** Selects dead events: one, or those of a queue, or of an account in it. */
interface DeadPart {
  id?: string | undefined;
  queue?: string | undefined;
  account?: string | undefined;
}

type DeadPage = DeadPart & { before?: { deadAt: string; id: string } | undefined; limit: number };

const isOfPart = (sql: Sql, { id, queue, account }: DeadPart) => sql`
  dead_at is not null ${id ? sql`and id = ${id}` : sql``} ${queue ? sql`and queue = ${queue}` : sql``}
  ${account ? sql`and account_id = ${account}` : sql``}`;

/** Maximum number of rows that one statement requeues within the statement timeout. Each may have 900 KiB. */
export const maxRequeued = 100;

/**
 * Requeues dead events with their attempts reset. An event that dies again is a new dead event. Events that the bus rejected return
 * to the outbox. Returns the number of events, at most `maxRequeued`.
 */
export async function requeueDeadEvents(tx: Sql, part: DeadPart, now: Date): Promise<number> {
  const [requeued] = await tx<{ matched: number }[]>`
    with candidate as (
      select account_id, id from failed_events
      where ${isOfPart(tx, part)} order by dead_at, id limit ${maxRequeued} for update skip locked
    ), gone as (
      delete from failed_events f using candidate c where f.account_id = c.account_id and f.id = c.id returning f.*
    ), taken as (
      insert into failed_events (account_id, queue, subject, kind, headers, bytes, reason, tries, first_at, due_at)
      select account_id, queue, subject, kind, headers, bytes, reason, 0, ${now}, ${now} from gone where queue <> 'outbox'
    ), published as (
      insert into outbox (account_id, sequence, id, kind, audience, envelope, trace, created_at)
      overriding system value
      select account_id, (headers ->> 'Event-Sequence')::bigint, (headers ->> 'Nats-Msg-Id')::uuid, kind,
        split_part(subject, '.', 3), convert_from(bytes, 'UTF8'),
        nullif(headers - '{Event-Sequence,Nats-Msg-Id}'::text[], '{}'), ${now}
      from gone where queue = 'outbox'
    )
    select count(*)::float8 as matched from gone`;
  return requeued!.matched;
}

/** Deletes a dead event; returns the number of deleted rows. */
export async function deleteDeadEvent(tx: Sql, id: string): Promise<number> {
  const deleted = await tx`delete from failed_events where id = ${id} and dead_at is not null`;
  return deleted.count;
}

function toRecord({ firstAt, deadAt, ...record }: DeadRow): DeadRecord {
  return { ...record, firstAt: firstAt.toISOString(), deadAt: deadAt.toISOString() };
}
