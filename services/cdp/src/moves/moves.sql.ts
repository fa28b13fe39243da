import { isInScope, type JsonValue, type Scope, type Sql, serviceUnavailable } from '@customer-platform/service-kit';

/** The kind of a move. `ready` marks that the moves before it made an audience ready. */
type MoveKind = 'entered' | 'left' | 'ready';

/** Consecutive moves of an account, all of one kind, with ids after `after` and up to `until`. */
export interface MovesInRow {
  after: number;
  until: number;
  kind: MoveKind;
  count: number;
}

/** Returns whether an account has moves whose events are not written yet. */
export async function hasMoves(tx: Sql, accountId: string): Promise<boolean> {
  const rows = await tx`select from audience_announcements where account_id = ${accountId}`;
  return rows.length > 0;
}

/** Returns whether an account's next events are due to be written. */
export async function isAnnouncingDue(tx: Sql, accountId: string, now: Date): Promise<boolean> {
  const rows = await tx`select from audience_announcements where account_id = ${accountId} and due_at <= ${now}`;
  return rows.length > 0;
}

/** Returns whether more than `most` moves of an account are kept. */
export async function hasMoreMoves(tx: Sql, accountId: string, most: number): Promise<boolean> {
  const rows = await tx`
    select from audience_moves where account_id = ${accountId}
      and id > (select told from audience_announcements where account_id = ${accountId}) order by id offset ${most} limit 1`;
  return rows.length > 0;
}

/** Queues the moves of the current refresh, entries first, so that their events are written later. */
export async function keepMoves(tx: Sql, accountId: string, now: Date): Promise<void> {
  await tx`
    insert into audience_moves (account_id, audience_id, contact_id, kind)
    select account_id, audience_id, contact_id, case when entered then 'entered' else 'left' end
    from audience_changes where account_id = ${accountId} order by entered desc`;
  await tx`
    insert into audience_announcements (account_id, due_at) values (${accountId}, ${now}) on conflict (account_id) do nothing`;
}

/** Queues audience.ready behind the moves that made the audience ready. */
export async function keepReady(
  tx: Sql,
  accountId: string,
  audienceId: string,
  previous: Record<string, unknown> = {},
): Promise<void> {
  await tx`
    insert into audience_moves (account_id, audience_id, kind, previous)
    values (${accountId}, ${audienceId}, 'ready', ${tx.json(previous as Record<string, JsonValue>)})`;
}

/** Most queued moves whose events one request writes. A contact that is repeatedly tagged and untagged has tens of thousands. */
const mostTaken = 2_000;

/**
 * Removes the queued moves of contacts and returns them in order. The caller must emit their events before a contact is gone, and must have locked
 * the audiences. Throws 503 if there are too many; their number shrinks as events are written.
 */
export async function takeMovesOf(tx: Sql, accountId: string, contactIds: readonly string[]) {
  const taken = await tx<{ kind: 'entered' | 'left'; contact_id: string; id: string | null; name: string }[]>`
    with taken as (
      delete from audience_moves where account_id = ${accountId} and id in (
        select id from audience_moves where account_id = ${accountId} and contact_id = any(${[...contactIds]}::uuid[])
        order by id limit ${mostTaken + 1} for update)
      returning id, audience_id, contact_id, kind
    )
    select taken.kind, taken.contact_id, a.id, a.name
    from taken left join audiences a on a.account_id = ${accountId} and a.id = taken.audience_id order by taken.id`;
  if (taken.length > mostTaken)
    throw serviceUnavailable("The contact's audience events are still being written; retry in a few seconds");
  // Deleted audiences get no events.
  return taken.flatMap(({ id, ...move }) => (id === null ? [] : [{ ...move, id }]));
}

/** Returns accounts whose queued events are due, longest due first, without those in `coolingDown`. */
export async function selectAnnouncing(
  tx: Sql,
  now: Date,
  { coolingDown, limit, scope }: { coolingDown: readonly string[]; limit: number; scope: Scope },
) {
  const rows = await tx<{ account_id: string }[]>`
    select account_id from audience_announcements
    where due_at <= ${now} and account_id <> all(${[...scope.accounts, ...coolingDown]}::uuid[]) ${isInScope(tx, scope)}
    order by due_at limit ${limit}`;
  return rows.map((row) => row.account_id);
}

/** Returns at most `limit` next moves of the account that are of one kind; undefined if it has none. */
export async function nextMoves(tx: Sql, accountId: string, limit: number): Promise<MovesInRow | undefined> {
  const [row] = await tx<MovesInRow[]>`
    with told as (
      select told from audience_announcements where account_id = ${accountId}
    ), next as (
      select id, kind, first_value(kind) over (order by id) as first from audience_moves
      where account_id = ${accountId} and id > (select told from told) order by id limit ${limit}
    ), of_kind as (
      select id from next where id < coalesce((select min(id) from next where kind <> first), 9223372036854775807)
    )
    select (select told from told) as after, (select max(id) from of_kind) as until, (select first from next limit 1) as kind,
      (select count(*)::int from of_kind) as count
    where exists (select from next)`;
  return row;
}

/** The event data of a move `m`, its audience `a`, and its contact `c`, which may be deleted; see audience.entered. */
export const dataOfMove = (tx: Sql) => tx`
  json_build_object('audience', json_build_object('id', a.id, 'name', a.name), 'contact',
    json_build_object('id', m.contact_id, 'name', coalesce(c.name, ''), 'phone', coalesce(c.phone, ''))) as data`;

/** Selects the event data of moves. Locks them, so moves that were taken meanwhile are omitted. Omits entries of deleted contacts. */
export const dataOfMoves = (tx: Sql, accountId: string, { after, until }: MovesInRow): ReturnType<Sql> => tx`
  select ${dataOfMove(tx)}
  from (select * from audience_moves where account_id = ${accountId} and id > ${after} and id <= ${until} order by id for update) as m
  join audiences a on a.account_id = m.account_id and a.id = m.audience_id
  left join contacts c on c.account_id = m.account_id and c.id = m.contact_id
  where c.id is not null or m.kind = 'left' order by m.id`;

/** Returns the audiences that became ready, with the replaced values; null if a previous release recorded the move. */
export async function readyOfMoves(tx: Sql, accountId: string, { after, until }: MovesInRow) {
  return await tx<{ audience_id: string; previous: Record<string, unknown> | null }[]>`
    select audience_id, previous from audience_moves
    where account_id = ${accountId} and id > ${after} and id <= ${until} order by id`;
}

/** Removes moves whose events are written. */
export async function finishMoves(tx: Sql, accountId: string, { after, until }: MovesInRow): Promise<void> {
  await tx`delete from audience_moves where account_id = ${accountId} and id > ${after} and id <= ${until}`;
  await tx`update audience_announcements set told = ${until} where account_id = ${accountId}`;
}

/** Postpones the account's next events to `at`; clears them if `at` is undefined. */
export async function announceLater(tx: Sql, accountId: string, at: Date | undefined): Promise<void> {
  if (at) await tx`update audience_announcements set due_at = ${at} where account_id = ${accountId}`;
  else await tx`delete from audience_announcements where account_id = ${accountId}`;
}

/** Drops at most `limit` moves of a missing account. */
export async function dropMoves(tx: Sql, accountId: string, limit: number): Promise<void> {
  const dropped = await tx`
    delete from audience_moves where account_id = ${accountId} and id in (
      select id from audience_moves where account_id = ${accountId} order by id limit ${limit})`;
  if (dropped.count < limit) await tx`delete from audience_announcements where account_id = ${accountId}`;
}
