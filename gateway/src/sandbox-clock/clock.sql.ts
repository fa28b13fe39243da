import type { Sql } from '@customer-platform/service-kit';

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

/** Begins to advance a clock; returns whether it was not advancing already. */
export async function insertAdvance(tx: Sql, accountId: string, target: Date): Promise<boolean> {
  const inserted = await tx`
    insert into clock_advances (account_id, target) values (${accountId}, ${target}) on conflict do nothing`;
  return inserted.count === 1;
}

/** A clock that this process moves until its lease ends. */
export interface Advance {
  accountId: string;
  target: Date;
}

/** Longer than one look at all services takes: a gateway that died is followed by another. */
const leaseSeconds = 10;
const leaseEnd = (sql: Sql) => sql`clock_timestamp() + make_interval(secs => ${leaseSeconds})`;

/** Leases clocks that no process moves, those that waited longest first. */
export async function claimAdvances(sql: Sql, holder: string, most: number): Promise<Advance[]> {
  return await sql<Advance[]>`
    with next as (
      select account_id from clock_advances where leased_until is null or leased_until < clock_timestamp()
      order by waits_since limit ${most} for update skip locked
    )
    update clock_advances c set holder = ${holder}, leased_until = ${leaseEnd(sql)} from next where c.account_id = next.account_id
    returning c.account_id as "accountId", c.target`;
}

/** Renews a lease; returns whether it is still this process's. */
export async function renewAdvance(sql: Sql, holder: string, accountId: string): Promise<boolean> {
  const renewed = await sql`
    update clock_advances set leased_until = ${leaseEnd(sql)} where account_id = ${accountId} and holder = ${holder}`;
  return renewed.count === 1;
}

/** Lets a clock go: it is moved on after `restMs`, behind those that wait. */
export async function releaseAdvance(sql: Sql, holder: string, accountId: string, restMs: number): Promise<void> {
  await sql`
    update clock_advances set holder = null, waits_since = clock_timestamp(),
      leased_until = case when ${restMs}::int > 0 then clock_timestamp() + ${restMs}::int * interval '1 ms' end
    where account_id = ${accountId} and holder = ${holder}`;
}

/** Notes that a clock is where it was to be. */
export async function endAdvance(sql: Sql, holder: string, accountId: string): Promise<void> {
  await sql`delete from clock_advances where account_id = ${accountId} and holder = ${holder}`;
}

/** Counts the clocks that are on their way, and says for how many seconds the first of them has been. */
export async function selectAdvancing(sql: Sql): Promise<{ count: number; longestSeconds: number }> {
  const [row] = await sql<{ count: number; longestSeconds: number }[]>`
    select count(*)::int as count, coalesce(extract(epoch from clock_timestamp() - min(began_at)), 0)::float8 as "longestSeconds"
    from clock_advances`;
  return row!;
}
