import { isSuccess, type PostError, type PostResult } from '@customer-platform/outbound';
import { dayMs, type RunEnd } from '@customer-platform/service-kit';
import { nextWaitMs, type RetrySchedule } from './retry-schedule.ts';

/** A due delivery as the dispatcher fetched it. `run` counts restarts of the retry schedule, `step` the attempts of this run. */
export type DueDelivery = {
  id: string;
  eventId: string;
  run: number;
  step: number;
  isManual: boolean;
  envelope: string;
  /** The event's number within its account. */
  sequence: number;
  trace: Record<string, string> | null;
};

/** Why pending deliveries of an endpoint end without an attempt. */
export type EndReason = 'endpoint_disabled' | 'endpoint_deleted';

/** Outcome of an attempt: its `tries` row and the resulting state of its delivery. */
export type TryOutcome = {
  accountId: string;
  endpointId: string;
  deliveryId: string;
  run: number;
  at: Date;
  url: string;
  httpStatus: number | null;
  error: PostError | null;
  body: string;
  durationMs: number;
  isManual: boolean;
  status: 'delivered' | 'pending' | 'failed';
  reason: 'exhausted' | EndReason | null;
  /** The attempt was aborted because its endpoint was disabled or deleted. It says nothing about the endpoint. */
  isAborted: boolean;
  nextTryAt: Date | null;
  /** Why the endpoint is to be disabled, or null. */
  disable: string | null;
};

const failingMs = 5 * dayMs;

type TryContext = {
  accountId: string;
  endpointId: string;
  url: string;
  /** The endpoint's URL changed during the attempt, so the response says nothing about the new URL. */
  isFormer: boolean;
  /** Why the endpoint's attempts were aborted, if they were. */
  endReason?: EndReason | undefined;
  /** Time of the first failed attempt since the last success. */
  failingSince: Date | null;
  /** Start of the attempt, by the account's clock, like `endedAt`. */
  at: Date;
  endedAt: Date;
  schedule: RetrySchedule;
  /** In [0, 1). */
  random: number;
};

/**
 * Returns the outcome of an attempt. A 2xx response delivers. An aborted attempt fails as `endpoint_disabled` or `endpoint_deleted`. A 410, or a
 * failure after five days of failures, disables the endpoint. Any other failure waits for the next attempt; after the last one, it is `exhausted`.
 */
export function outcomeOf(delivery: DueDelivery, result: PostResult, context: TryContext): TryOutcome {
  const { accountId, endpointId, url, at, endedAt, schedule, random } = context;
  const made = {
    accountId,
    endpointId,
    deliveryId: delivery.id,
    run: delivery.run,
    at,
    url,
    httpStatus: result.status ?? null,
    error: result.error ?? null,
    body: result.body,
    durationMs: result.durationMs,
    isManual: delivery.isManual,
    isAborted: result.isAborted === true,
    nextTryAt: null,
    disable: null,
  };
  if (isSuccess(result)) return { ...made, status: 'delivered', reason: null };
  if (made.isAborted) return { ...made, status: 'failed', reason: context.endReason ?? 'endpoint_disabled' };
  const disable = disablingReason(result, context);
  if (disable !== null) return { ...made, status: 'failed', reason: 'endpoint_disabled', disable };
  const waitMs = nextWaitMs(schedule, delivery.step + 1, random, result.retryAfterMs);
  if (waitMs === null) return { ...made, status: 'failed', reason: 'exhausted' };
  return { ...made, status: 'pending', reason: null, nextTryAt: new Date(endedAt.getTime() + waitMs) };
}

function disablingReason(result: PostResult, context: TryContext): string | null {
  if (context.isFormer) return null;
  if (result.status === 410) return 'The endpoint responded with 410 Gone.';
  const { failingSince, at } = context;
  const isLasting = failingSince !== null && at.getTime() - failingSince.getTime() >= failingMs;
  return isLasting ? 'Every delivery to the endpoint failed for 5 days.' : null;
}

/** Classifies the end of an attempt for the account's slots and the endpoint's cap. */
export function endOf(outcome: TryOutcome): RunEnd {
  if (outcome.error === 'timeout') return 'timeout';
  return outcome.status === 'delivered' ? 'responded' : 'other';
}

/** Returns why an attempt failed, for operators: `HTTP 500 from https://shop.example/hooks`, `https://shop.example/hooks: timeout`. */
export function failureText({ url, httpStatus, error }: Pick<TryOutcome, 'url' | 'httpStatus' | 'error'>): string {
  return error === null ? `HTTP ${httpStatus} from ${url}` : `${url}: ${error}`;
}
