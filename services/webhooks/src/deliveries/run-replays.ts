import {
  backoffMs,
  batchOf,
  isUnavailable,
  type Job,
  RowFinder,
  type Sql,
  type WorkCall,
} from '@customer-platform/service-kit';
import { findEndpoint } from '../endpoints/endpoints.sql.ts';
import type { WebhookResources } from '../implement.ts';
import { oldestShown } from '../retention/retention.ts';
import { makeDue } from '../sending/dispatch.sql.ts';
import { isEndpointOf } from '../sending/queued-deliveries.sql.ts';
import {
  countDue,
  lookAtReplays,
  nextOfReplay,
  pauseReplay,
  type ReplayRow,
  restartOfReplay,
  runningReplays,
  takeReplay,
  updateReplay,
} from './replays.sql.ts';

const batch = 100;
/** While the endpoint has this many due deliveries, a replay adds none, so that it never outpaces the endpoint. */
const maxDue = 200;
/** Pause of a replay whose endpoint is busy, or whose round threw. It doubles each time, up to the longest. */
const shortestPauseMs = 500;
const longestPauseMs = { busy: 8_000, failed: 300_000 };
/** Pauses in a row that are counted; further ones last equally long. */
const maxPauses = 10;

const finder = new RowFinder(runningReplays);
const room = batchOf(1);

/** A replay whose round threw. The round is rolled back; the replay pauses, and its status stays `running`. */
class ReplayFailed extends Error {
  readonly replay: ReplayRow;

  constructor(replay: ReplayRow, cause: unknown) {
    super(`replay ${replay.id}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
    this.replay = replay;
  }
}

/**
 * Continues one replay per round, round-robin by account: makes its next deliveries due and stores its progress in one
 * transaction. The replay fails if its endpoint is disabled or deleted.
 */
export const runReplays: Job<WebhookResources> = {
  name: 'run-replays',
  queue: { queue: 'replays', rows: runningReplays, hasEndpoint: isEndpointOf },
  due: { ...runningReplays, look: lookAtReplays },
  everyMs: 500,
  async run(call, scope) {
    const { tx: sql, now } = call;
    const found = await finder.take({ sql, now, scope, room }, async (due) => ({ rows: await takeReplay(sql, due) }));
    const [replay] = found.rows;
    if (replay) {
      await continueReplay(replay, call).catch((error: unknown) => {
        throw isUnavailable(error) ? error : new ReplayFailed(replay, error);
      });
    }
    return found.hasMore;
  },
  async failed({ tx, now }, error) {
    if (error instanceof ReplayFailed) await pause(tx, error.replay, now, longestPauseMs.failed);
  },
};

async function pause(tx: Sql, replay: ReplayRow, now: Date, longestMs: number): Promise<void> {
  const ms = backoffMs({ firstMs: shortestPauseMs, longestMs }, replay.rests + 1);
  const rests = Math.min(replay.rests + 1, maxPauses);
  await pauseReplay(tx, replay, rests, new Date(now.getTime() + ms));
}

async function continueReplay(replay: ReplayRow, { tx, now, resources }: WorkCall<WebhookResources>): Promise<void> {
  const { account_id: accountId, endpoint_id: endpointId } = replay;
  const endpoint = await findEndpoint(tx, accountId, endpointId);
  if (!endpoint?.active) return await updateReplay(tx, replay, { ...replay, status: 'failed' }, now);
  // A paused endpoint gets no attempts, and `done` must not run ahead of them.
  if (endpoint.paused || (await countDue(tx, { accountId, endpointId }, now, maxDue)) >= maxDue) {
    return await pause(tx, replay, now, longestPauseMs.busy);
  }
  const deliveries = await nextOfReplay(tx, replay, oldestShown(resources.clocks.real(), resources.retention), batch);
  const last = deliveries.at(-1);
  if (last) {
    // Locks the queue as late as possible, because outcomes of all accounts wait for the lock.
    await makeDue(tx, [{ accountId, endpointId }], now);
    await restartOfReplay(
      tx,
      replay,
      deliveries.map(({ id }) => id),
      now,
    );
  }
  const isOver = deliveries.length < batch;
  const progress = {
    status: isOver ? ('completed' as const) : ('running' as const),
    // Some matched deliveries may be in flight already; some found here may be newer than the count.
    done: isOver ? replay.matched : Math.min(replay.matched, replay.done + deliveries.length),
    cursor_at: last?.created_at ?? replay.cursor_at,
    cursor_id: last?.id ?? replay.cursor_id,
  };
  await updateReplay(tx, replay, progress, now);
}
