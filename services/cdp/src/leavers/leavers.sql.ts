import type { Fragment, Sql } from '@customer-platform/service-kit';

/** How long the id of a former member remains a valid cursor of the member list. */
const keptMs = 24 * 3_600_000;

/** Returns the latest `left_at` that has expired. */
export const keptSince = (now: Date): Date => new Date(now.getTime() - keptMs);

/**
 * Statement that keeps the positions of members who leave, for a `with` next to their removal. `rows` selects account_id, audience_id, contact_id and
 * entered_at.
 */
export const keepLeavers = (tx: Sql, rows: Fragment, now: Date) => tx`
  insert into audience_leavers as known (account_id, audience_id, contact_id, entered_at, left_at)
  select gone.account_id, gone.audience_id, gone.contact_id, gone.entered_at, ${now} from (${rows}) as gone
  on conflict (account_id, audience_id, contact_id) do update set entered_at = excluded.entered_at, left_at = excluded.left_at`;

/** Deletes at most `limit` expired positions; returns their number. */
export async function deleteLeavers(tx: Sql, now: Date, limit: number): Promise<number> {
  const result = await tx`
    delete from audience_leavers where (account_id, audience_id, contact_id) in (
      select account_id, audience_id, contact_id from audience_leavers where left_at <= ${keptSince(now)}
      order by left_at limit ${limit} for update skip locked)`;
  return result.count;
}
