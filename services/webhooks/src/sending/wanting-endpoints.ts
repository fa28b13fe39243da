import type { HeldEndpoint } from './held-endpoint.ts';

/** Accounts that have some fetched get no more while so many deliveries that could start wait for their turn in memory. */
const maxReady = 2000;

/**
 * Returns the endpoints of which deliveries are to be fetched now. While enough could start, by `canTake`, these are only those of accounts that have none fetched of an
 * endpoint that has a turn: for others' turns they need not wait, nor for a sibling that hangs.
 */
export function wantingEndpoints(
  all: readonly HeldEndpoint[],
  canTake: (held: HeldEndpoint) => boolean,
  maxPerEndpoint: number,
): HeldEndpoint[] {
  // What waits behind a bound is no work to go on with.
  const startable = all.reduce((sum, held) => sum + (canTake(held) ? held.room() : 0), 0);
  const served = startable < maxReady ? [] : all.filter((held) => held.canStart());
  const servedAccounts = new Set(served.map(({ accountId }) => accountId));
  return all.filter((held) => held.wanted(maxPerEndpoint) > 0 && !servedAccounts.has(held.accountId));
}
