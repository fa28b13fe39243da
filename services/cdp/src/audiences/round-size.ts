import { LRUCache } from '@customer-platform/service-kit';

/** Most contacts, and most re-evaluations, of one round. */
const largest = 10_000;
const smallest = 10;
/** Time that a round should take: other accounts wait until it is over. */
const roundMs = 2_000;
/** Accounts whose rounds are smaller, by what one takes. */
const sizes = new LRUCache<string, number>({ max: 10_000 });

/** Returns the size of the next round of an account whose last one was `size` and took `tookMs`: as many as fit into two seconds. */
export function nextSize(size: number, tookMs: number): number {
  const fitting = Math.round((size * roundMs) / Math.max(tookMs, 1));
  return Math.max(smallest, Math.min(largest, size * 4, fitting));
}

/**
 * Does a round of an account's, which is told how many contacts it may take. An account with many audiences of rules that are dear has
 * smaller ones, and one of a tenth after one that failed.
 */
export async function sizedRound(accountId: string, round: (size: number) => Promise<void>): Promise<void> {
  const size = sizes.get(accountId) ?? largest;
  const beganMs = performance.now();
  let next = Math.max(smallest, Math.round(size / 10));
  try {
    await round(size);
    next = nextSize(size, performance.now() - beganMs);
  } finally {
    if (next < largest) sizes.set(accountId, next);
    else sizes.delete(accountId);
  }
}
