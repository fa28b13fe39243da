import type { RateLimit } from '@customer-platform/contracts/accounts';
import { ApiError } from '@customer-platform/contracts/core';

/** The limit of one key, computed once: a token bucket as GCRA sees it. */
export interface RatePolicy {
  /** Redis key of its bucket. */
  bucket: string;
  /** Number by which its shard is chosen, the same in every process. */
  hash: number;
  burst: number;
  /** Time to refill one request, in microseconds. */
  intervalUs: number;
  /** Both as Redis arguments. */
  burstText: string;
  intervalText: string;
  /** `RateLimit-Policy`: the quota is the bucket, the window the time in which an empty one fills. */
  header: string;
}

/** Returns the policy of a key by its limit. */
export function ratePolicy(keyId: string, limit: RateLimit): RatePolicy {
  const intervalUs = 60_000_000 / limit.per_minute;
  const windowSeconds = Math.ceil((intervalUs * limit.burst) / 1_000_000);
  return {
    bucket: `rate:${keyId}`,
    hash: hashOf(keyId),
    burst: limit.burst,
    intervalUs,
    burstText: String(limit.burst),
    intervalText: String(intervalUs),
    header: `"key";q=${limit.burst};w=${windowSeconds}`,
  };
}

/** FNV-1a, 32 bits. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return hash >>> 0;
}

/**
 * Bucket state as one number: how far ahead of now the bucket is spent, in microseconds, or, if negative, the wait
 * until one more request fits.
 */
export type BucketState = number;

/** Returns the `RateLimit` header: requests left, and the seconds until the bucket is full again. */
export function rateLimitHeader(policy: RatePolicy, state: BucketState): string {
  const fullUs = policy.intervalUs * policy.burst;
  if (state < 0) return `"key";r=0;t=${Math.ceil((fullUs - policy.intervalUs - state) / 1_000_000)}`;
  const left = Math.max(0, Math.floor((fullUs - state) / policy.intervalUs + 1e-6));
  return `"key";r=${left};t=${Math.ceil(state / 1_000_000)}`;
}

/** Returns the refusal of a request that fits in `waitMs`. Its `Retry-After`, which `message` gets, is at least 1 s. */
export function rateLimited(waitMs: number, message: (seconds: number) => string): ApiError {
  const seconds = Math.max(1, Math.ceil(waitMs / 1_000));
  return new ApiError('rate_limited', message(seconds), { headers: { 'Retry-After': String(seconds) } });
}
