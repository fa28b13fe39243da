import { type Claim, claimed, type DueTable, type Ended, type Sql } from '@customer-platform/service-kit';

/** The clock of a sandbox account: how far it is ahead of the real time, and where it is advancing to, if it is. */
export interface ClockState {
  aheadMs: number;
  target: Date | null;
}

export async function selectClock(sql: Sql, accountId: string): Promise<ClockState> {
  const [row] = await sql<ClockState[]>`
    select coalesce(c.ahead_ms, 0)::float8 as "aheadMs", a.target
    from (select ${accountId}::uuid as id) as account
      left join sandbox_clocks c on c.account_id = account.id left join clock_advances a on a.account_id = account.id`;
  return row!;
}

/** Advances of clocks by when they go on: a row from the request until all that was due on the way is done. */
export const advances: DueTable = {
  name: 'clock_advances',
  key: { account_id: 'uuid' },
  due: 'due_at',
  attempts: 'attempts',
  error: 'last_error',
};

/** A clock that this gateway moves. */
export interface Advance {
  account_id: string;
  target: Date;
  /** Stretches since something last happened, this one included. */
  attempts: number;
  trace: null;
}

/** How a clock goes on that was moved for a while: after a rest in milliseconds, 0 where something happened; null where it is there. */
export type StretchEnd = number | null;

/** Begins to advance a clock; returns whether it was not advancing already. */
export async function insertAdvance(tx: Sql, accountId: string, target: Date, dueAt: Date): Promise<boolean> {
  const inserted = await tx`
    insert into clock_advances (account_id, target, due_at) values (${accountId}, ${target}, ${dueAt}) on conflict do nothing`;
  return inserted.count === 1;
}

export async function claimAdvances(sql: Sql, { due, leasedUntil }: Claim): Promise<Advance[]> {
  return await sql<Advance[]>`
    with due as (${due})
    update clock_advances c set ${claimed(sql, advances, leasedUntil)} from due where c.account_id = due.account_id
    returning c.account_id, c.target, c.attempts, null as trace`;
}

/** Removes advances that are there, and has the others go on after their rest, behind those that wait. */
export async function settleAdvances(sql: Sql, ended: readonly Ended<Advance, StretchEnd>[], now: Date): Promise<void> {
  const [accounts, rests] = [ended.map(({ row }) => row.account_id), ended.map(({ result }) => result)];
  await sql`
    with ended as (select * from unnest(${accounts}::uuid[], ${rests}::integer[]) as each (account_id, rest)),
      gone as (delete from clock_advances c using ended where c.account_id = ended.account_id and rest is null)
    update clock_advances c set due_at = ${now}::timestamptz + rest * interval '1 ms', attempts = case rest when 0 then 0 else attempts end
    from ended where c.account_id = ended.account_id and rest is not null`;
}
