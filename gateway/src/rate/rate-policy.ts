import type { RateLimit } from '@customer-platform/contracts/accounts';

/** The limit of one key, worked out once: a token bucket as GCRA sees it. */
export interface RatePolicy {
  /** Under which its bucket is kept. */
  bucket: string;
  burst: number;
  /** The time in which one request comes back, in microseconds. */
  intervalUs: number;
  /** Both as Redis takes them. */
  burstText: string;
  intervalText: string;
  /** `RateLimit-Policy`: the quota is the bucket, the window the time in which an empty one fills. */
  header: string;
}

/** Makes the policy of a key from its limit. */
export function ratePolicy(keyId: string, limit: RateLimit): RatePolicy {
  const intervalUs = 60_000_000 / limit.per_minute;
  const windowSeconds = Math.ceil((intervalUs * limit.burst) / 1_000_000);
  return {
    bucket: `rate:${keyId}`,
    burst: limit.burst,
    intervalUs,
    burstText: String(limit.burst),
    intervalText: String(intervalUs),
    header: `"key";q=${limit.burst};w=${windowSeconds}`,
  };
}

/**
 * What a limiter answers in one number: how far ahead of now the bucket is spent, in microseconds, or, negative, how
 * long to wait until one more request fits.
 */
export type Standing = number;

/** `RateLimit`: requests left, and the seconds until all of the bucket is there again. */
export function rateLimitHeader(policy: RatePolicy, standing: Standing): string {
  const fullUs = policy.intervalUs * policy.burst;
  if (standing < 0) return `"key";r=0;t=${Math.ceil((fullUs - policy.intervalUs - standing) / 1_000_000)}`;
  const left = Math.max(0, Math.floor((fullUs - standing) / policy.intervalUs + 1e-6));
  return `"key";r=${left};t=${Math.ceil(standing / 1_000_000)}`;
}

/** `Retry-After` in whole seconds, 1 at least, of a request that was refused. */
export function retryAfterSeconds(standing: Standing): number {
  return Math.max(1, Math.ceil(-standing / 1_000_000));
}
