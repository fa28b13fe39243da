import { type Claim, claimed, type DueTable, type Ended, type Sql } from '@customer-platform/service-kit';

/** The clock of a sandbox account: how far it is ahead of real time, and its target while it advances. */
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

/** Clock advances by the time at which they continue. A row exists from the request until all work due on the way has ended. */
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
  /** Consecutive stretches without progress, including this one. */
  attempts: number;
  trace: null;
}

/** The pause after a stretch in milliseconds: 0 after progress, null once the clock has arrived. */
export type StretchEnd = number | null;

/** Begins to advance a clock. Returns false if the clock is already advancing. */
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

/** Deletes advances that have arrived. Schedules the others after their pause, behind waiting ones. */
export async function settleAdvances(sql: Sql, ended: readonly Ended<Advance, StretchEnd>[], now: Date): Promise<void> {
  const [accounts, rests] = [ended.map(({ row }) => row.account_id), ended.map(({ result }) => result)];
  await sql`
    with ended as (select * from unnest(${accounts}::uuid[], ${rests}::integer[]) as each (account_id, rest)),
      gone as (delete from clock_advances c using ended where c.account_id = ended.account_id and rest is null)
    update clock_advances c set due_at = ${now}::timestamptz + rest * interval '1 ms', attempts = case rest when 0 then 0 else attempts end
    from ended where c.account_id = ended.account_id and rest is not null`;
}
