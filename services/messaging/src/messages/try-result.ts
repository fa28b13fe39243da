import type { ReceiptStatus } from '@customer-platform/contracts/messaging';

/**
 * Result of a provider call. `refused`: the channel's credentials are; the attempt is held for at most `holdMs`.
 * `postponed`: a dependency is unavailable. `suspended`: the account is. Neither of the two made or counts as a call.
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

/** Waits in ms before the second and third call. All three begin within 30 s of the first, however long they take. */
const retryWaitsMs = [2_000, 8_000];
const maxRetryWaitMs = 13_000;
const lastTryAfterMs = 29_500;

/** Returns when to retry after an unavailable provider. Null after the third call, or if too much time has passed. */
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
