import { isUnavailable } from '../database/database-errors.ts';
import { meter } from '../telemetry/meter.ts';
import { type Backoff, backoffMs } from '../values/backoff.ts';
import type { FailedAttempt } from './failed-events.sql.ts';

/** Counts dead events by queue. */
export const deadEvents = meter.createCounter('events.dead', {
  description: 'Dead events, which no consumer could take or the bus rejected, by queue.',
});

/** Number of failed attempts after which an event is dead. */
export const maxEventAttempts = 10;
/** Backoff between attempts of an event. */
export const eventBackoff: Backoff = { firstMs: 2_000, longestMs: 300_000 };
/** Time for which an unavailable dependency or a held lock does not count against an event. */
const patienceMs = 24 * 3_600_000;

/** Thrown by a consumer that could not get a lock of these accounts. */
export class AccountsLocked extends Error {
  constructor(accountIds: readonly string[], cause?: unknown) {
    super(`another transaction holds the lock of ${accountIds.join(', ')}`, { cause });
  }
}

/** Returns the outcome of failed attempt number `tries`, with the next due time, if any. `firstAt` is the time of the first failure. */
export function failedAttempt(error: unknown, tries: number, firstAt: Date, now: Date): FailedAttempt {
  const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  // Removes characters that PostgreSQL cannot store.
  const reason = text.slice(0, 1_000).replaceAll('\0', '').toWellFormed();
  const isBlameless = isUnavailable(error) || error instanceof AccountsLocked;
  const isPatient = isBlameless && now.getTime() - firstAt.getTime() < patienceMs;
  const counted = isPatient ? tries - 1 : tries;
  if (counted >= maxEventAttempts) return { reason, tries: counted, dueAt: null };
  return { reason, tries: counted, dueAt: new Date(now.getTime() + backoffMs(eventBackoff, tries)) };
}
