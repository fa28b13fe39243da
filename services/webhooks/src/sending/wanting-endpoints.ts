import type { HeldEndpoint } from './held-endpoint.ts';

/** Once this many fetched deliveries can start, nothing more is fetched for accounts with an endpoint that can start. */
const maxReady = 2000;
/** Once this many characters are fetched in all, accounts that hold `fetchedShare` or more get no more. */
const maxFetched = 33_554_432;
const fetchedShare = 262_144;

/**
 * Returns the endpoints to fetch for now. Once `maxReady` fetched deliveries can start (`canTake`), accounts with an endpoint that can start are left
 * out, so that the read serves the others. An endpoint at its cap cannot start, and does not exclude its account. Once `maxFetched` characters are
 * fetched in all, accounts that hold `fetchedShare` are left out; otherwise many hanging endpoints would fill the memory.
 */
export function wantingEndpoints(
  all: readonly HeldEndpoint[],
  canTake: (held: HeldEndpoint) => boolean,
  maxPerEndpoint: number,
): HeldEndpoint[] {
  // Deliveries behind a limit cannot start, so they do not count.
  const startable = all.reduce((sum, held) => sum + (canTake(held) ? held.room() : 0), 0);
  const served = startable < maxReady ? [] : all.filter((held) => held.canStart());
  const servedAccounts = new Set(served.map(({ accountId }) => accountId));
  const atShare = accountsAtShare(all);
  const mayHaveMore = ({ accountId }: HeldEndpoint) => !(servedAccounts.has(accountId) || atShare.has(accountId));
  return all.filter((held) => held.wanted(maxPerEndpoint) > 0 && mayHaveMore(held));
}

/** Returns the accounts that have their share of the fetched characters; none while the total is small. */
function accountsAtShare(all: readonly HeldEndpoint[]): Set<string> {
  const fetched = new Map<string, number>();
  let sum = 0;
  for (const { accountId, fetchedLength } of all) {
    sum += fetchedLength;
    fetched.set(accountId, (fetched.get(accountId) ?? 0) + fetchedLength);
  }
  if (sum < maxFetched) return new Set();
  return new Set([...fetched].flatMap(([accountId, length]) => (length >= fetchedShare ? [accountId] : [])));
}
