import { ApiError } from '@customer-platform/contracts/core';
import type { Sql } from '@customer-platform/service-kit';
import type { WebhookResources } from '../implement.ts';
import { oldestShown } from '../retention/retention.ts';
import { countMatched, countRunning, insertReplay } from './replays.sql.ts';

/** Maximum number of running replays per endpoint. */
const maxRunning = 10;

/** The period of a replay, and whether it also covers delivered deliveries. */
interface Asked {
  since: Date;
  until: Date | undefined;
  status: 'failed' | 'all';
}

/**
 * Begins a replay of an endpoint. Throws 400 for an invalid period, and 409 if the endpoint is disabled or has ten
 * running replays. Does not lock the endpoint: outcomes are written to its row, and counting a long period takes time.
 */
export async function beginReplay(
  { tx, now, resources }: { tx: Sql; now: Date; resources: Pick<WebhookResources, 'clocks' | 'retention'> },
  endpoint: { accountId: string; id: string; active: boolean },
  { since, until = now, status }: Asked,
): Promise<{ id: string; matched: number }> {
  if (since >= now) throw new ApiError('invalid_request', 'since must be in the past', { field: 'since' });
  if (until <= since) throw new ApiError('invalid_request', 'until must be later than since', { field: 'until' });
  if (!endpoint.active) throw new ApiError('invalid_state', 'The endpoint is disabled; set active to true first');
  const { accountId, id: endpointId } = endpoint;
  // Deliveries created from now on are excluded; otherwise the replay would never end.
  const ended = until < now ? until : now;
  const isOf = { account_id: accountId, endpoint_id: endpointId };
  const period = { ...isOf, since, until: ended, includes_delivered: status === 'all' };
  const matched = await countMatched(tx, period, oldestShown(resources.clocks.real(), resources.retention));
  if (matched > 0 && (await countRunning(tx, { accountId, endpointId })) >= maxRunning) {
    const message = `${maxRunning} replays of the endpoint are running; wait until one has completed`;
    throw new ApiError('invalid_state', message);
  }
  const { id } = await insertReplay(tx, { ...period, matched }, resources.clocks.real());
  return { id, matched };
}
