import type { Sql, Unsent } from '../database/database.ts';
import { isOfAccount } from '../database/of-account.sql.ts';
import type { Fragment } from '../database/queue-rows.ts';
import { hasFailed, type KeyedRows } from '../due-work/due-rows.ts';
import type { TraceHeaders } from '../telemetry/telemetry.ts';
import { noAccount } from '../values/no-account.ts';
import type { FailedAttempt } from './failed-events.sql.ts';

/** An event that waits for its transaction's commit. */
export interface OutboxRow {
  account_id: string;
  id: string;
  kind: string;
  audience: string;
  envelope: string;
  trace: TraceHeaders | null;
}

/** A row as the relay reads it. */
export interface StoredRow extends OutboxRow {
  sequence: number;
  tries: number;
  rounds: number;
  created_at: Date;
}

/** Limits of a round: accounts, events, events per account, and approximate bytes in memory at once. */
const maxInRound = { accounts: 200, rows: 500, ofAccount: 100, bytes: 2_097_152 };

/** The accounts of a round: those after `last` by id, without paused ones. */
interface Turn {
  last: string | undefined;
  paused: readonly string[];
}

/**
 * Locks out the service's other relays until the transaction ends. Two relays with events of one account could publish the later change first.
 * The relay's transaction commits without waiting for the disk. If the database server crashes before the write, the events are published again and deduplicated by id.
 */
export async function lockRelay(tx: Sql): Promise<void> {
  await tx`
    select pg_advisory_xact_lock(hashtextextended('outbox of ' || current_schema(), 0)),
      set_config('synchronous_commit', 'off', true)`;
}

/**
 * Locks the oldest due events of each of 200 accounts until the transaction ends, without reading any other events. Within the byte limit, the first
 * event of each account comes before any second, and small events before large ones. Returns whether a limit cut events off, and the last of the 200
 * accounts; undefined if no more follow.
 */
export async function lockOutbox(tx: Sql, { last, paused }: Turn) {
  const { accounts, rows, ofAccount, bytes } = maxInRound;
  const next = (after: Fragment) =>
    tx`select account_id from outbox where account_id > ${after} order by account_id limit 1`;
  const found = await tx<(StoredRow & { is_cut: boolean; last: string | null })[]>`
    with recursive account (id, place) as (
      select next.*, 1 from (${next(tx`${last ?? noAccount}::uuid`)}) as next
      union all
      select next.*, place + 1 from account cross join lateral (${next(tx`account.id`)}) as next where place < ${accounts}
    ), turn as (
      select greatest(1, least(${ofAccount}, ${rows} / max(place))) as of_each, (select id from account where place = ${accounts}) as last
      from account
    ), due as (
      select due.* from account cross join lateral (
        select account_id, sequence, octet_length(envelope) as size from outbox
        where ${isOfAccount(tx, 'account_id', 'account.id')} and due_at <= now()
        order by sequence limit (select of_each from turn) for update skip locked) as due
      where account.id <> all(${[...paused]}::uuid[])
    ), placed as (
      select due.*, row_number() over (partition by account_id order by sequence) as nth from due
    ), sized as (
      select account_id, sequence, sum(size) over (order by nth, size, sequence) - size as bytes_before,
        max(nth) over () = (select of_each from turn) or sum(size) over () >= ${bytes} as is_cut
      from placed
    )
    select o.sequence, o.account_id, o.id, o.kind, o.audience, o.trace, o.tries, o.rounds, o.created_at, o.envelope, is_cut, last
    from turn left join (sized join outbox o using (account_id, sequence)) on bytes_before < ${bytes} order by sequence`;
  const [first] = found;
  return {
    rows: found.filter(({ sequence }) => sequence !== null),
    isCut: first?.is_cut ?? false,
    last: first?.last ?? undefined,
  };
}

/** Events in the outbox, as a queue. */
export const outboxRows: KeyedRows = {
  name: 'outbox',
  key: {},
  due: 'due_at',
  error: 'reason',
  // An event left by an unavailable bus has no counted attempt, but is to be retried.
  failed: hasFailed('reason'),
  // No index has their due times, so they are counted from the rows.
  countsFailed: true,
};

/** Moves events that the bus has acknowledged to `published`. */
export function movePublished(tx: Sql, rows: readonly StoredRow[]): Unsent {
  const accounts = rows.map((row) => row.account_id);
  const sequences = rows.map((row) => row.sequence);
  return tx`
    with moved as (
      delete from outbox using unnest(${accounts}::uuid[], ${sequences}::bigint[]) as k (account_id, sequence)
      where outbox.account_id = k.account_id and outbox.sequence = k.sequence returning outbox.*
    )
    insert into published (account_id, sequence, id, kind, audience, envelope, trace, rounds, created_at)
    select account_id, sequence, id, kind, audience, envelope, trace, rounds, created_at from moved
    on conflict do nothing`;
}

/** A row that the bus rejected, and the outcome. */
export interface RefusedRow {
  row: StoredRow;
  next: FailedAttempt;
}

/** Records that the bus rejected events, and when each is published again. */
export async function postponeEvents(tx: Sql, refused: readonly RefusedRow[]): Promise<void> {
  if (refused.length === 0) return;
  await tx`
    update outbox o set tries = refused.tries, due_at = refused.due_at, reason = refused.reason
    from unnest(${refused.map(({ row }) => row.account_id)}::uuid[], ${refused.map(({ row }) => row.sequence)}::bigint[],
      ${refused.map(({ next }) => next.tries)}::int[], ${refused.map(({ next }) => next.dueAt!.toISOString())}::text[]::timestamptz[],
      ${refused.map(({ next }) => next.reason)}::text[]) as refused (account_id, sequence, tries, due_at, reason)
    where o.account_id = refused.account_id and o.sequence = refused.sequence`;
}

/** Moves events that the bus will never accept from the outbox to the dead events. */
export async function moveDeadEvents(tx: Sql, dead: readonly RefusedRow[], subjects: readonly string[]): Promise<void> {
  if (dead.length === 0) return;
  await tx`
    with dead as (
      select * from unnest(${dead.map(({ row }) => row.account_id)}::uuid[], ${dead.map(({ row }) => row.sequence)}::bigint[],
        ${[...subjects]}::text[], ${dead.map(({ next }) => next.reason)}::text[], ${dead.map(({ next }) => next.tries)}::int[])
        as dead (account_id, sequence, subject, reason, tries)
    ), buried as (
      delete from outbox o using dead d where o.account_id = d.account_id and o.sequence = d.sequence
      returning o.*, d.subject, d.reason as last_reason, d.tries as all_tries
    )
    insert into failed_events (account_id, queue, subject, kind, headers, bytes, reason, tries, first_at, dead_at)
    select account_id, 'outbox', subject, kind,
      jsonb_build_object('Event-Sequence', sequence::text, 'Nats-Msg-Id', id) || coalesce(trace, '{}'),
      convert_to(envelope, 'UTF8'), last_reason, all_tries, created_at, date_trunc('milliseconds', now())
    from buried`;
}

/** Maximum number of events that a republication request counts. A full week could exceed the statement timeout. */
export const maxCounted = 100_000;

/**
 * Asks for everything published from `since` to now to be sent again. Returns the number of those events, at most 100,000. It includes events that
 * were sent again before and are too old for another time.
 */
export async function requestRepublication(tx: Sql, since: Date): Promise<number> {
  const [row] = await tx<{ matched: number }[]>`
    with requested as (
      insert into republications (since, until) values (${since}, now())
    )
    select count(*)::int as matched from (
      select from published where published_at >= ${since} and published_at <= now() limit ${maxCounted}) as counted`;
  return row!.matched;
}

/** Seconds before the last publication whose events a server may have lost. NATS acknowledges first and writes to disk every two minutes. */
const unwrittenSeconds = 150;

/** Records the server of the bus. If it is new, requests the events of the last minutes to be sent again and returns true. */
export async function noteServer(sql: Sql, server: string): Promise<boolean> {
  const requested = await sql`
    with known as (
      select server_id from bus_servers where bus = '' for update
    ), noted as (
      insert into bus_servers as s (bus, server_id) values ('', ${server})
      on conflict (bus) do update set server_id = excluded.server_id, noted_at = now() where s.server_id <> excluded.server_id
    )
    insert into republications (since, until)
    select max(published_at) - make_interval(secs => ${unwrittenSeconds}), now() from published
    where exists (select from known where server_id <> ${server}) having max(published_at) is not null`;
  return requested.count > 0;
}

/** Maximum number of events that a round sends again; each may have 900 KiB. */
const maxRepublished = 100;

/**
 * Moves some requested events back to the outbox; returns whether more may follow. At most `most` events may wait there, not counting paused
 * accounts, so that new events do not wait long behind old ones. Skips events that were sent again before and are older than `oldest`, since
 * consumers may have forgotten them. Deletes by ctid: the planner cannot know the number of rows, and would read a week of events.
 */
export async function republishSome(tx: Sql, most: number, oldest: Date): Promise<boolean> {
  const [request] = await tx<{ account_id: string; id: number; since: Date; until: Date }[]>`
    select account_id, id, since, until from republications order by id limit 1 for update skip locked`;
  if (!request) return false;
  const { since, until } = request;
  const isRequested = tx`published_at between ${since} and ${until} and (rounds = 0 or created_at >= ${oldest})`;
  const moved = await tx`
    with waiting as (
      select 1 from outbox where account_id not in (select account_id from queue_pauses where queue = 'outbox') limit ${most}
    ), moved as (
      delete from published where ctid = any(array(
        select ctid from published where ${isRequested}
        order by published_at limit (select least(${maxRepublished}, greatest(0, ${most} - count(*))) from waiting))) returning *
    )
    insert into outbox (sequence, account_id, id, kind, audience, envelope, trace, rounds, created_at)
    overriding system value
    select sequence, account_id, id, kind, audience, envelope, trace, least(rounds, 32766) + 1, created_at from moved`;
  if (moved.count > 0) return true;
  const [left] = await tx`select 1 from published where ${isRequested} limit 1`;
  if (!left) await tx`delete from republications where account_id = ${request.account_id} and id = ${request.id}`;
  return false;
}
