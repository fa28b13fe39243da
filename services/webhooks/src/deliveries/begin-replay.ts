import { ApiError } from '@customer-platform/contracts/core';
import type { Sql } from '@customer-platform/service-kit';
import type { WebhookResources } from '../implement.ts';
import { oldestShown } from '../retention/retention.ts';
import { countMatched, countRunning, insertReplay } from './replays.sql.ts';

/** Replays of one endpoint that run at once. */
const maxRunning = 10;

/** The deliveries that a replay is asked for: those of a period that were not delivered, or all. */
interface Asked {
  since: Date;
  until: Date | undefined;
  status: 'failed' | 'all';
}

/**
 * Begins a replay of an endpoint; throws 400 for a period that is none, and 409 where the endpoint is off or has too many running. Locks no endpoint: outcomes
 * of tries are written to its row, and counting a long period takes its time.
 */
export async function beginReplay(
  { tx, now, resources }: { tx: Sql; now: Date; resources: Pick<WebhookResources, 'clocks' | 'retention'> },
  endpoint: { accountId: string; id: string; active: boolean },
  { since, until = now, status }: Asked,
): Promise<{ id: string; matched: number }> {
  if (since >= now) throw new ApiError('invalid_request', 'since must be in the past', { field: 'since' });
  if (until <= since) throw new ApiError('invalid_request', 'until must be later than since', { field: 'until' });
  if (!endpoint.active) throw new ApiError('invalid_state', 'The endpoint is switched off; switch it on first');
  const { accountId, id: endpointId } = endpoint;
  // What is made from now on is no part of it, or it would never end.
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
