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
  type ReplayRow,
  restartOfReplay,
  restReplay,
  runningReplays,
  takeReplay,
  updateReplay,
} from './replays.sql.ts';

const batch = 100;
/** While so many deliveries of the endpoint are due a replay adds none: it never gets ahead of what the endpoint takes. */
const maxDue = 200;
/** Rest of a replay whose endpoint has so many due, and of one that failed: twice as long each time, up to the longest. */
const shortestRestMs = 500;
const longestRestMs = { busy: 8_000, failed: 300_000 };
/** Rests in a row that are counted: any more are as long as the last. */
const maxRests = 10;

const finder = new RowFinder(runningReplays);
const room = batchOf(1);

/** A replay could not go on; what it had done is rolled back. */
class ReplayFailed extends Error {
  readonly replay: ReplayRow;

  constructor(replay: ReplayRow, cause: unknown) {
    super(`replay ${replay.id}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
    this.replay = replay;
  }
}

/**
 * Goes on with one replay a round, round-robin by account: makes its next deliveries due, with the place noted in the same transaction. It
 * fails where its endpoint is off or gone.
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
      await goOn(replay, call).catch((error: unknown) => {
        throw isUnavailable(error) ? error : new ReplayFailed(replay, error);
      });
    }
    return found.hasMore;
  },
  async failed({ tx, now }, error) {
    if (error instanceof ReplayFailed) await rest(tx, error.replay, now, longestRestMs.failed);
  },
};

async function rest(tx: Sql, replay: ReplayRow, now: Date, longestMs: number): Promise<void> {
  const ms = backoffMs({ firstMs: shortestRestMs, longestMs }, replay.rests + 1);
  const rests = Math.min(replay.rests + 1, maxRests);
  await restReplay(tx, replay, rests, new Date(now.getTime() + ms));
}

async function goOn(replay: ReplayRow, { tx, now, resources }: WorkCall<WebhookResources>): Promise<void> {
  const { account_id: accountId, endpoint_id: endpointId } = replay;
  const endpoint = await findEndpoint(tx, accountId, endpointId);
  if (!endpoint?.active) return await updateReplay(tx, replay, { ...replay, status: 'failed' }, now);
  // Paused, it tries nothing: the replay's `done` stays behind what is tried.
  if (endpoint.paused || (await countDue(tx, { accountId, endpointId }, now, maxDue)) >= maxDue) {
    return await rest(tx, replay, now, longestRestMs.busy);
  }
  const deliveries = await nextOfReplay(tx, replay, oldestShown(resources.clocks.real(), resources.retention), batch);
  const last = deliveries.at(-1);
  if (last) {
    // Only now: outcomes of all accounts wait for whoever has locked a queue.
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
    // What was matched and is not met is under way already, by hand or for another replay; what is met may have come later.
    done: isOver ? replay.matched : Math.min(replay.matched, replay.done + deliveries.length),
    cursor_at: last?.created_at ?? replay.cursor_at,
    cursor_id: last?.id ?? replay.cursor_id,
  };
  await updateReplay(tx, replay, progress, now);
}
