/** The waits in ms before each attempt. The first wait counts from the time at which the event is recorded. */
export type RetrySchedule = readonly number[];

const unitMs = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const maxWaitMs = 30 * unitMs.d;
const maxTries = 50;

/**
 * Parses a schedule such as "0,5s,5m,30m,2h": 1 to 50 waits of at most 30 days. Units are ms, s, m, h and d; 0 needs
 * none. Throws a RangeError that names the invalid part.
 */
export function parseRetrySchedule(text: string): RetrySchedule {
  const waits = text.split(',').map((part) => parseWait(part.trim()));
  if (waits.length > maxTries)
    throw new RangeError(`a retry schedule has at most ${maxTries} waits, not ${waits.length}`);
  return waits;
}

function parseWait(part: string): number {
  const match = /^(\d{1,9})(ms|s|m|h|d)?$/.exec(part);
  const amount = Number(match?.[1]);
  const unit = match?.[2];
  const ms = unit === undefined || unit === 'ms' ? amount : amount * unitMs[unit as keyof typeof unitMs];
  if (!match || (unit === undefined && amount !== 0) || ms > maxWaitMs) {
    throw new RangeError(`"${part}" is not a wait; write 0 or a number with ms, s, m, h or d, at most 30d`);
  }
  return ms;
}

/**
 * Returns the ms to wait after `triesMade` attempts, or null when the schedule is exhausted. Adds up to a tenth of
 * jitter (`random` in [0, 1)). The wait is at least the endpoint's Retry-After.
 */
export function nextWaitMs(
  schedule: RetrySchedule,
  triesMade: number,
  random: number,
  retryAfterMs: number | undefined,
): number | null {
  const wait = schedule[triesMade];
  if (wait === undefined) return null;
  return Math.max(Math.round(wait * (1 + random / 10)), retryAfterMs ?? 0);
}
