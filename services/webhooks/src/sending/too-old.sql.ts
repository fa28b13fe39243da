import { type Database, inTransaction, type Sql } from '@customer-platform/service-kit';
import { oldestIdKept } from '../retention/retention.ts';
import type { QueueKey } from './dispatch.sql.ts';
import type { QueueState } from './read-queues.sql.ts';

/** Maximum number of deliveries ended per round, for all accounts, since others wait for the round. */
const mostEnded = 1_000;

/**
 * Ends due deliveries whose events are older than `eventsKeptMs`, and returns whether it ended any. An endpoint paused
 * for weeks may have millions of them before the first that can be sent. Their events may be gone.
 */
export async function endTooOld(sql: Database, states: readonly QueueState[], eventsKeptMs: number): Promise<boolean> {
  const having = states.filter(({ hasTooOld, endpoint }) => hasTooOld && endpoint?.isActive && !endpoint.isPaused);
  // Begins at a random endpoint, because the first may use up the whole round.
  const first = Math.floor(Math.random() * having.length);
  let left = mostEnded;
  for (const state of [...having.slice(first), ...having.slice(0, first)]) {
    if (left <= 0) break;
    const limit = left;
    left -= await inTransaction(sql, (tx) => endFirst(tx, state, { limit, oldest: oldestIdKept(eventsKeptMs) }));
  }
  return left < mostEnded;
}

/**
 * Ends the deliveries that are too old among an endpoint's first pending ones, and returns how many. Separate statements lock them and check their
 * events, because one can crash PostgreSQL 18 up to 18.4 (ADR 27). A subquery hides the limit from the planner, which might otherwise sort all rows.
 */
async function endFirst(
  tx: Sql,
  { accountId, endpointId }: QueueKey,
  { limit, oldest }: { limit: number; oldest: string },
): Promise<number> {
  const first = await tx<{ id: string; event_id: string }[]>`
    select id, event_id from deliveries where account_id = ${accountId} and endpoint_id = ${endpointId} and status = 'pending'
    order by next_try_at, id limit (select ${limit}::integer) for update skip locked`;
  const old = first.filter(({ event_id }) => event_id < oldest);
  const others = first.filter(({ event_id }) => event_id >= oldest);
  const gone = others.length === 0 ? [] : await withoutEvents(tx, accountId, others);
  const ids = [...old, ...gone].map(({ id }) => id);
  if (ids.length === 0) return 0;
  await tx`
    update deliveries set status = 'failed', reason = 'exhausted', next_try_at = null, is_manual = false
    where account_id = ${accountId} and id = any(${ids}::uuid[])`;
  return ids.length;
}

/** Returns the deliveries whose events are gone, which occurs if the retention was shorter before. */
async function withoutEvents(tx: Sql, accountId: string, deliveries: readonly { id: string; event_id: string }[]) {
  return await tx<{ id: string }[]>`
    select d.id from unnest(${deliveries.map(({ id }) => id)}::uuid[], ${deliveries.map(({ event_id }) => event_id)}::uuid[]) as d (id, event_id)
    left join lateral (select id from events where account_id = ${accountId} and id = d.event_id limit 1) as v on true where v.id is null`;
}
