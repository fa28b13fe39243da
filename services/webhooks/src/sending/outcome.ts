import { isSuccess, type PostError, type PostResult } from '@customer-platform/outbound';
import { dayMs, type RunEnd } from '@customer-platform/service-kit';
import { nextWaitMs, type RetrySchedule } from './retry-schedule.ts';

/** A delivery that is due, as the dispatcher took it. `step` counts the tries of this run. */
export type DueDelivery = {
  id: string;
  eventId: string;
  run: number;
  step: number;
  isManual: boolean;
  envelope: string;
  /** The event's number in its account. */
  sequence: number;
  trace: Record<string, string> | null;
};

/** Why what is pending at an endpoint ends without it. */
export type EndReason = 'endpoint_disabled' | 'endpoint_deleted';

/** Outcome of a try: the row of the try and the state of its delivery after it. */
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
  /** The try was cut off because of its endpoint's end: it says nothing of the endpoint. */
  isAborted: boolean;
  nextTryAt: Date | null;
  /** Why the endpoint is to be switched off, where it is. */
  disable: string | null;
};

const failingMs = 5 * dayMs;

type TryContext = {
  accountId: string;
  endpointId: string;
  url: string;
  /** The endpoint has been given another address meanwhile: the response of this one says nothing of it. */
  isFormer: boolean;
  /** Why the endpoint's tries were cut off, where they were. */
  endReason?: EndReason | undefined;
  /** Since when the endpoint has only failed. */
  failingSince: Date | null;
  /** Begin and end of the try, by the platform's clock. */
  at: Date;
  endedAt: Date;
  schedule: RetrySchedule;
  /** In [0, 1). */
  random: number;
};

/**
 * What follows from a try: 2xx is delivered; one that was cut off ends as its endpoint did; 410, or a failure after five days
 * of nothing else, switches the endpoint off; any other failure waits for its next try or, after the last, is exhausted.
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

/** Returns how a try ended, for the slots of its account and the cap of its endpoint. */
export function endOf(outcome: TryOutcome): RunEnd {
  if (outcome.error === 'timeout') return 'timeout';
  return outcome.status === 'delivered' ? 'responded' : 'other';
}

/** Returns why a try failed, for operators: `HTTP 500 from https://shop.example/hooks`, `https://shop.example/hooks: timeout`. */
export function failureText({ url, httpStatus, error }: Pick<TryOutcome, 'url' | 'httpStatus' | 'error'>): string {
  return error === null ? `HTTP ${httpStatus} from ${url}` : `${url}: ${error}`;
}
