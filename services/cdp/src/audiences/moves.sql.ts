import { isOfScope, type Scope, type Sql } from '@customer-platform/service-kit';

/** The moves of an account after `after` up to `until`, all in or all out. */
export interface MovesInRow {
  after: number;
  until: number;
  entered: boolean;
  count: number;
}

/** Returns whether an account has moves whose events are not written yet. */
export async function hasMoves(tx: Sql, accountId: string): Promise<boolean> {
  const rows = await tx`select from audience_announcements where account_id = ${accountId}`;
  return rows.length > 0;
}

/** Returns whether more than `most` moves of an account are kept. */
export async function hasMoreMoves(tx: Sql, accountId: string, most: number): Promise<boolean> {
  const rows = await tx`
    select from audience_moves where account_id = ${accountId}
      and id > (select told from audience_announcements where account_id = ${accountId}) order by id offset ${most} limit 1`;
  return rows.length > 0;
}

/** Keeps the moves of the refresh under way, those who entered first, for their events to be written later. */
export async function keepMoves(tx: Sql, accountId: string, now: Date): Promise<void> {
  await tx`
    insert into audience_moves (account_id, audience_id, contact_id, entered)
    select account_id, audience_id, contact_id, entered from audience_changes where account_id = ${accountId} order by entered desc`;
  await tx`
    insert into audience_announcements (account_id, due_at) values (${accountId}, ${now}) on conflict (account_id) do nothing`;
}

/** Returns accounts with moves whose events are due to be written, the longest due first. */
export async function selectAnnouncing(tx: Sql, now: Date, { limit, scope }: { limit: number; scope: Scope }) {
  const rows = await tx<{ account_id: string }[]>`
    select account_id from audience_announcements
    where due_at <= ${now} and account_id <> all(${[...scope.accounts]}::uuid[]) ${isOfScope(tx, scope)}
    order by due_at limit ${limit}`;
  return rows.map((row) => row.account_id);
}

/** Returns the account's next moves in a row that are of one kind, `limit` at most; undefined where it has none. */
export async function nextMoves(tx: Sql, accountId: string, limit: number): Promise<MovesInRow | undefined> {
  const [row] = await tx<MovesInRow[]>`
    with told as (
      select told from audience_announcements where account_id = ${accountId}
    ), next as (
      select id, entered, first_value(entered) over (order by id) as kind from audience_moves
      where account_id = ${accountId} and id > (select told from told) order by id limit ${limit}
    ), of_kind as (
      select id from next where id < coalesce((select min(id) from next where entered <> kind), 9223372036854775807)
    )
    select (select told from told) as after, (select max(id) from of_kind) as until, (select kind from next limit 1) as entered,
      (select count(*)::int from of_kind) as count
    where exists (select from next)`;
  return row;
}

/** Selects the data of their events: see audience.entered. Nobody is said to enter who is gone by now: that was told. */
export const dataOfMoves = (tx: Sql, accountId: string, { after, until }: MovesInRow): ReturnType<Sql> => tx`
  select json_build_object('audience', json_build_object('id', a.id, 'name', a.name), 'contact',
    json_build_object('id', m.contact_id, 'name', coalesce(c.name, ''), 'phone', coalesce(c.phone, ''))) as data
  from (select * from audience_moves where account_id = ${accountId} and id > ${after} and id <= ${until} order by id) as m
  join audiences a on a.account_id = m.account_id and a.id = m.audience_id
  left join contacts c on c.account_id = m.account_id and c.id = m.contact_id
  where c.id is not null or not m.entered order by m.id`;

/** Removes moves whose events are written. */
export async function finishMoves(tx: Sql, accountId: string, { after, until }: MovesInRow): Promise<void> {
  await tx`delete from audience_moves where account_id = ${accountId} and id > ${after} and id <= ${until}`;
  await tx`update audience_announcements set told = ${until} where account_id = ${accountId}`;
}

/** Has the next events of an account written later; not at all where none is left. */
export async function announceLater(tx: Sql, accountId: string, at: Date | undefined): Promise<void> {
  if (at) await tx`update audience_announcements set due_at = ${at} where account_id = ${accountId}`;
  else await tx`delete from audience_announcements where account_id = ${accountId}`;
}

/** Drops the moves of an account that there is no more. */
export async function dropMoves(tx: Sql, accountId: string): Promise<void> {
  await tx`delete from audience_moves where account_id = ${accountId}`;
  await tx`delete from audience_announcements where account_id = ${accountId}`;
}
