import { countSerially, type PageBounds, type Sql } from '@customer-platform/service-kit';

/** Time off of a teammate: [starts_at, ends_at). */
export interface TimeOffRow {
  id: string;
  starts_at: Date;
  ends_at: Date;
  reason: string;
}

/** Counts a teammate's time off that has not ended. Concurrent creations are serialized by a lock. */
export async function countTimeOff(tx: Sql, accountId: string, staffId: number, now: Date): Promise<number> {
  return await countSerially(
    tx,
    `time off ${accountId} ${staffId}`,
    tx`time_off where account_id = ${accountId} and staff_id = ${staffId} and ends_at > ${now}`,
  );
}

/** Inserts and returns time off. `starts_at` must be before `ends_at`. */
export async function insertTimeOff(tx: Sql, accountId: string, staffId: number, timeOff: Omit<TimeOffRow, 'id'>) {
  const [row] = await tx<TimeOffRow[]>`
    insert into time_off ${tx({ account_id: accountId, staff_id: staffId, ...timeOff })}
    returning id, starts_at, ends_at, reason`;
  return row!;
}

/** Returns time off, or undefined if this teammate has none with this id. */
export async function selectTimeOff(tx: Sql, accountId: string, staffId: number, id: string) {
  const [row] = await tx<TimeOffRow[]>`
    select id, starts_at, ends_at, reason from time_off
    where account_id = ${accountId} and staff_id = ${staffId} and id = ${id}`;
  return row;
}

/** Lists time off after `after`, latest start first. */
export async function listTimeOffRows(
  tx: Sql,
  accountId: string,
  staffId: number,
  { after, limit }: PageBounds<TimeOffRow>,
) {
  const further = after ? tx`and (starts_at, id) < (${after.starts_at}, ${after.id})` : tx``;
  return await tx<TimeOffRow[]>`
    select id, starts_at, ends_at, reason from time_off
    where account_id = ${accountId} and staff_id = ${staffId} ${further}
    order by starts_at desc, id desc limit ${limit}`;
}

/** Deletes time off. Returns false if it does not exist. */
export async function deleteTimeOffRow(tx: Sql, accountId: string, staffId: number, id: string): Promise<boolean> {
  const result = await tx`
    delete from time_off where account_id = ${accountId} and staff_id = ${staffId} and id = ${id}`;
  return result.count === 1;
}
