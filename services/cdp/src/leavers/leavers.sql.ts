import type { Fragment, Sql } from '@customer-platform/service-kit';

/** Time that the id of a member that left remains a cursor of the members' list. */
const keptMs = 24 * 3_600_000;

/** Returns the latest `left_at` that is no longer kept. */
export const keptSince = (now: Date): Date => new Date(now.getTime() - keptMs);

/**
 * The statement that keeps the positions of members that leave, for a `with` beside the one that removes them. `rows`
 * selects account_id, audience_id, contact_id and entered_at.
 */
export const keepLeavers = (tx: Sql, rows: Fragment, now: Date) => tx`
  insert into audience_leavers as known (account_id, audience_id, contact_id, entered_at, left_at)
  select gone.account_id, gone.audience_id, gone.contact_id, gone.entered_at, ${now} from (${rows}) as gone
  on conflict (account_id, audience_id, contact_id) do update set entered_at = excluded.entered_at, left_at = excluded.left_at`;

/** Deletes at most `limit` positions that are kept no longer; returns their number. */
export async function deleteLeavers(tx: Sql, now: Date, limit: number): Promise<number> {
  const result = await tx`
    delete from audience_leavers where (account_id, audience_id, contact_id) in (
      select account_id, audience_id, contact_id from audience_leavers where left_at <= ${keptSince(now)}
      order by left_at limit ${limit} for update skip locked)`;
  return result.count;
}
