import type { Sql } from '@customer-platform/service-kit';

/** Records a change in its transaction, which invalidates the account's keys in every gateway's cache. */
export async function recordChange(tx: Sql, accountId: string): Promise<void> {
  await tx`
    with counted as (update change_counter set number = number + 1 returning number)
    insert into changes (number, account_id) select number, ${accountId} from counted`;
}

/** A change by its number, and its time, which is null once the change is deleted. */
export interface SeenChange {
  number: number;
  at: Date | null;
}

/** Returns the latest change. */
export async function latestChange(sql: Sql): Promise<SeenChange> {
  const [row] = await sql<SeenChange[]>`
    select c.number, (select at from changes where number = c.number) as at from change_counter c`;
  return row!;
}

/** Returns the latest number, and at most `limit` changes from `number` on, oldest first. */
export async function changesFrom(sql: Sql, number: number, limit: number) {
  const rows = await sql<{ latest: number; number: number | null; at: Date; account_id: string }[]>`
    select c.number as latest, later.* from change_counter c left join lateral (
      select number, at, account_id from changes where number >= ${number} order by number limit ${limit}) as later on true
    order by later.number`;
  const changes = rows.flatMap(({ number: each, at, account_id }) =>
    each === null ? [] : [{ number: each, at, account_id }],
  );
  return { latest: rows[0]!.latest, changes };
}

/** Deletes at most `limit` changes older than `before`; returns their number. */
export async function forgetChanges(tx: Sql, before: Date, limit: number): Promise<number> {
  const result = await tx`
    delete from changes
    where number in (select number from changes where at < ${before} order by number limit ${limit})`;
  return result.count;
}
