import type { Sql } from '@customer-platform/service-kit';

/** Records a change, in the transaction that makes it, which invalidates what gateways cached of an account's keys. */
export async function recordChange(tx: Sql, accountId: string): Promise<void> {
  await tx`
    with counted as (update change_counter set number = number + 1 returning number)
    insert into changes (number, account_id) select number, ${accountId} from counted`;
}

/** Returns the number of the latest change. */
export async function latestChange(sql: Sql): Promise<number> {
  const [row] = await sql<{ number: number }[]>`select number from change_counter`;
  return row!.number;
}

/** Returns changes after `number`, oldest first, at most `limit`. */
export async function changesAfter(sql: Sql, number: number, limit: number) {
  return await sql<{ number: number; account_id: string }[]>`
    select number, account_id from changes where number > ${number} order by number limit ${limit}`;
}

/** Deletes changes from before `before`, at most `limit`; returns their number. */
export async function forgetChanges(tx: Sql, before: Date, limit: number): Promise<number> {
  const result = await tx`
    delete from changes
    where number in (select number from changes where at < ${before} order by number limit ${limit})`;
  return result.count;
}
