import type { Job, WorkCall } from '@customer-platform/service-kit';
import { findEndpoint } from '../endpoints/endpoints.sql.ts';
import type { WebhookResources } from '../implement.ts';
import { makeDue } from '../sending/dispatch.sql.ts';
import { isEndpointOf } from '../sending/queued-deliveries.sql.ts';
import { restartDeliveries } from './deliveries.sql.ts';
import { countDue, nextOfReplay, type ReplayRow, takeReplay, updateReplay } from './replays.sql.ts';

const batch = 100;
/** While so many deliveries of the endpoint are due a replay adds none: it never gets ahead of what the endpoint takes. */
const maxDue = 200;
const restMs = 500;

/**
 * Goes on with one replay a round: makes its next deliveries due, with the place noted in the same transaction. It fails
 * where its endpoint is off or gone.
 */
export const runReplays: Job<WebhookResources> = {
  name: 'run-replays',
  queue: {
    queue: 'replays',
    rows: { name: 'replays', due: 'rests_until', where: (sql) => sql`status = 'running'`, endpoint: 'endpoint_id' },
    hasEndpoint: isEndpointOf,
  },
  everyMs: 500,
  async run(call, paused) {
    const replay = await takeReplay(call.tx, call.now, paused);
    if (!replay) return false;
    await goOn(replay, call);
    return true;
  },
};

async function goOn(replay: ReplayRow, { tx, now }: WorkCall<WebhookResources>): Promise<void> {
  const { account_id: accountId, endpoint_id: endpointId } = replay;
  const endpoint = await findEndpoint(tx, accountId, endpointId, 'lock');
  if (!endpoint?.active) return await updateReplay(tx, replay, { ...replay, status: 'failed' }, now);
  if ((await countDue(tx, accountId, endpointId, now, maxDue)) >= maxDue) {
    return await updateReplay(tx, replay, replay, new Date(now.getTime() + restMs));
  }
  await makeDue(tx, [{ accountId, endpointId }], now);
  const deliveries = await nextOfReplay(tx, replay, now, batch);
  const last = deliveries.at(-1);
  // One whose first try is due is on its way: begun again, it could be sent twice.
  const ids = deliveries.filter((delivery) => !delivery.is_begun).map((delivery) => delivery.id);
  if (ids.length > 0) await restartDeliveries(tx, accountId, ids, now);
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
