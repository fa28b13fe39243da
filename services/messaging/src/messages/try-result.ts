import type { ReceiptStatus } from '@customer-platform/contracts/messaging';

/**
 * Result of one try of an attempt. `refused`: the credentials of the channel are, and it is held for so long at most. `postponed` does not count as a try: it did not begin, because a dependency is unavailable. Nor does
 * `suspended`: the account is suspended, and nothing of it is sent.
 */
export type TryResult = { address?: string } & (
  | { outcome: 'accepted'; providerId: string; receipts?: readonly ReceiptStatus[] }
  | { outcome: 'rejected'; message: string; reason?: 'opted_out' }
  | { outcome: 'refused'; message: string; holdMs: number }
  | { outcome: 'unavailable'; message: string; retryAfterMs?: number }
  | { outcome: 'unknown'; message: string }
  | { outcome: 'skipped'; reason: SkipReason }
  | { outcome: 'postponed'; waitMs: number }
  | { outcome: 'suspended' }
);

/** Reasons not to call a provider. */
type SkipReason = 'not_set_up' | 'no_address' | 'no_consent' | 'outside_window' | 'channel_failing' | 'too_late';

/** Waits in milliseconds before the second and the third try; all three begin within 30 s of the first, however long they take. */
const retryWaitsMs = [2_000, 8_000];
const maxRetryWaitMs = 13_000;
const lastTryAfterMs = 29_500;

/** Returns the time of the retry after an unavailable try; null if it was the third one, or too much time has passed. */
export function retryAt(
  { tries, started_at }: { tries: number; started_at: Date | null },
  retryAfterMs: number,
  now: Date,
): Date | null {
  const waitMs = retryWaitsMs[tries - 1];
  if (waitMs === undefined) return null;
  const last = (started_at ?? now).getTime() + lastTryAfterMs;
  const wanted = now.getTime() + Math.min(Math.max(waitMs, retryAfterMs), maxRetryWaitMs);
  return last < now.getTime() ? null : new Date(Math.min(wanted, last));
}
