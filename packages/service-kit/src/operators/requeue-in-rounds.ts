import { isRefusedData } from '../database/database-errors.ts';
import type { RequestCall } from '../jobs/requests.ts';
import type { Logger } from '../telemetry/logging.ts';
import {
  type DeadPart,
  type DeadPosition,
  maxRequeued,
  requeueDeadEvents,
  selectFirstDead,
  selectLastDeath,
} from './dead-events.sql.ts';

/** Time after which no more rounds begin: the gateway waits 10 s for the reply. */
const roundsMs = 5_000;

/**
 * Requeues dead events in rounds, each in a transaction of its own, and leaves those that cannot be converted. Returns how many it requeued:
 * those that died before it began, and as many as there is time for.
 */
export async function requeueInRounds(
  { sql, change }: Pick<RequestCall<undefined>, 'sql' | 'change'>,
  part: DeadPart,
  log: Logger,
): Promise<number> {
  if (part.id !== undefined) {
    return (await change(({ tx, now }) => requeueDeadEvents(tx, part, { limit: 1 }, now))).matched;
  }
  const until = await selectLastDeath(sql, part);
  if (!until) return 0;
  let after: DeadPosition | undefined;
  let limit = maxRequeued;
  let matched = 0;
  for (const endMs = performance.now() + roundsMs; performance.now() < endMs; ) {
    const range = { after, until, limit };
    try {
      const round = await change(({ tx, now }) => requeueDeadEvents(tx, part, range, now));
      matched += round.matched;
      if (!round.hasMore) break;
      after = round.last;
      limit = Math.min(limit * 2, maxRequeued);
    } catch (error) {
      if (!isRefusedData(error)) {
        if (matched === 0) throw error;
        log.error({ err: error }, 'dead events were requeued in part');
        break;
      }
      // Halves lead to the event that is refused: it alone is left.
      if (limit === 1) {
        after = await selectFirstDead(sql, part, range);
        if (!after) break;
        log.warn({ err: error, dead_id: after.id }, 'a dead event cannot be requeued');
      }
      limit = Math.ceil(limit / 2);
    }
  }
  return matched;
}
