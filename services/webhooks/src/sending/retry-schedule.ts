/** The waits before each try in ms: the first is before the first try, counted from the event. */
export type RetrySchedule = readonly number[];

const unitMs = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const maxWaitMs = 30 * unitMs.d;
const maxTries = 50;

/**
 * Reads a schedule such as "0,5s,5m,30m,2h": 1 to 50 waits, each a number with a unit (ms, s, m, h, d; 0 needs none) of at
 * most 30 days. Throws a RangeError naming the part that is wrong.
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
 * The ms to wait after `triesMade` tries, or null where the schedule is used up: the scheduled wait with up to a tenth
 * added at random (`random` in [0, 1)), and never less than the endpoint's Retry-After.
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
