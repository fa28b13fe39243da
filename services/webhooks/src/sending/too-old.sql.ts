import { type Database, inTransaction, oldestIdKept, type Sql } from '@customer-platform/service-kit';
import type { QueueKey } from './dispatch.sql.ts';
import type { QueueState } from './read-queues.sql.ts';

/** Deliveries that are ended in one round, whosever they are: others wait for it. */
const mostEnded = 1_000;

/**
 * Ends due deliveries whose events are older than what is kept, and returns whether there were some: of an endpoint that was paused for weeks there may
 * be millions before the first that can be tried. Nobody knows any more what they would have sent.
 */
export async function endTooOld(sql: Database, states: readonly QueueState[], eventsKeptMs: number): Promise<boolean> {
  const having = states.filter(({ hasTooOld, endpoint }) => hasTooOld && endpoint?.isActive && !endpoint.isPaused);
  let left = mostEnded;
  for (const state of having) {
    if (left <= 0) break;
    const limit = left;
    left -= await inTransaction(sql, (tx) => endFirst(tx, state, { limit, oldest: oldestIdKept(eventsKeptMs) }));
  }
  return having.length > 0;
}

/** Ends those that are too old of the first pending deliveries of an endpoint; returns how many. They are locked by a statement of its own: see ADR 27. */
async function endFirst(
  tx: Sql,
  { accountId, endpointId }: QueueKey,
  { limit, oldest }: { limit: number; oldest: string },
): Promise<number> {
  const first = await tx<{ id: string; is_too_old: boolean }[]>`
    select d.id, d.event_id < ${oldest} or not exists (
      select from events v where v.account_id = d.account_id and v.id = d.event_id) as is_too_old
    from (
      select * from deliveries where account_id = ${accountId} and endpoint_id = ${endpointId} and status = 'pending'
      order by next_try_at, id limit ${limit} for update skip locked) as d`;
  const ids = first.filter(({ is_too_old }) => is_too_old).map(({ id }) => id);
  if (ids.length === 0) return 0;
  await tx`
    update deliveries set status = 'failed', reason = 'exhausted', next_try_at = null, is_manual = false
    where account_id = ${accountId} and id = any(${ids}::uuid[])`;
  return ids.length;
}
