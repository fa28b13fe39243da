import type { HeldEndpoint } from './held-endpoint.ts';

/** Accounts that have some fetched get no more while so many deliveries that could start wait for their turn in memory. */
const maxReady = 2000;
/** Characters of all that is fetched from which on only accounts get more that have less than a share of it. */
const [maxFetched, fetchedShare] = [33_554_432, 262_144];

/**
 * Returns the endpoints of which deliveries are to be fetched now. While enough could start, by `canTake`, these are only those of accounts that have none fetched of an
 * endpoint that has a turn: for others' turns they need not wait, nor for a sibling that hangs. While very much is fetched, whether it could start or not, these are only those of accounts that have little of it:
 * endpoints of many that hang would fill the memory.
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
  const sated = satedAccounts(all);
  const mayHaveMore = ({ accountId }: HeldEndpoint) => !(servedAccounts.has(accountId) || sated.has(accountId));
  return all.filter((held) => held.wanted(maxPerEndpoint) > 0 && mayHaveMore(held));
}

/** Returns the accounts that have their share of what is fetched; none while that is little. */
function satedAccounts(all: readonly HeldEndpoint[]): Set<string> {
  const fetched = new Map<string, number>();
  let sum = 0;
  for (const { accountId, fetchedLength } of all) {
    sum += fetchedLength;
    fetched.set(accountId, (fetched.get(accountId) ?? 0) + fetchedLength);
  }
  if (sum < maxFetched) return new Set();
  return new Set([...fetched].flatMap(([accountId, length]) => (length >= fetchedShare ? [accountId] : [])));
}
