import type { AttemptState } from './message-state.ts';

/** What of an attempt says how far it got. */
export type AttemptProgress = Pick<AttemptState, 'number' | 'status' | 'reason' | 'address'>;

/** An attempt of unknown outcome may have gone out; a failed one counts more where a provider had taken it. */
const ranks = { skipped: 0, queued: 1, failed: 1, sending: 3, unknown: 3, sent: 4, delivered: 5, read: 6 } as const;
const undeliveredRank = 2;

/** Returns the attempt that got furthest, the later one of equals: its channel, body and address are the message's. */
export function furthestAttempt<Attempt extends AttemptProgress>(attempts: readonly Attempt[]): Attempt {
  return attempts.reduce((best, other) => {
    const isFurther = rankOf(other) > rankOf(best) || (rankOf(other) === rankOf(best) && other.number > best.number);
    return isFurther ? other : best;
  });
}

function rankOf({ status, reason }: AttemptProgress): number {
  return status === 'failed' && reason === 'undelivered' ? undeliveredRank : ranks[status];
}
