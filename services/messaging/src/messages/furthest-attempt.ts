import type { AttemptState } from './message-state.ts';

/** Progress of an attempt. */
export type AttemptProgress = Pick<AttemptState, 'number' | 'status' | 'reason' | 'address'>;

/** Rank of each status. An attempt with an unknown outcome may have been sent. A failed attempt ranks higher if a provider had accepted it. */
const ranks = { skipped: 0, queued: 1, failed: 1, sending: 3, unknown: 3, sent: 4, delivered: 5, read: 6 } as const;
const undeliveredRank = 2;

/** Returns the attempt that got furthest, or the later of equals. Its channel, body and address are shown as the message's. */
export function furthestAttempt<Attempt extends AttemptProgress>(attempts: readonly Attempt[]): Attempt {
  return attempts.reduce((best, other) => {
    const isFurther = rankOf(other) > rankOf(best) || (rankOf(other) === rankOf(best) && other.number > best.number);
    return isFurther ? other : best;
  });
}

function rankOf({ status, reason }: AttemptProgress): number {
  return status === 'failed' && reason === 'undelivered' ? undeliveredRank : ranks[status];
}
