import type { HeldEndpoint } from './held-endpoint.ts';

/** While this many fetched deliveries can start, accounts with one of them get no more. */
const maxReady = 2000;
/** When all fetched deliveries exceed the first number of characters, only accounts below the second get more. */
const [maxFetched, fetchedShare] = [33_554_432, 262_144];

/**
 * Returns the endpoints whose deliveries are to be fetched now. While `maxReady` fetched deliveries can start by `canTake`, it leaves out accounts with
 * one of them, so that a read serves accounts with nothing to start. An endpoint at its cap, such as a hanging one, cannot start. While more than
 * `maxFetched` characters are fetched, it leaves out accounts that hold `fetchedShare`, because many hanging endpoints would fill the memory.
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
