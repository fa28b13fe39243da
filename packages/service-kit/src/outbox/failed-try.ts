import { isUnavailable } from '../database/database-errors.ts';
import { meter } from '../telemetry/meter.ts';
import { type Backoff, backoffMs } from '../values/backoff.ts';
import type { FailedTry } from './failed-events.sql.ts';

/** Counts events that are dead, by their queue. */
export const deadEvents = meter.createCounter('events.dead', {
  description: 'Messages that no consumer could take or the bus would not carry, by queue.',
});

/** After so many tries an event is dead. */
export const maxEventTries = 10;
/** Wait between tries of an event. */
export const eventBackoff: Backoff = { firstMs: 2_000, longestMs: 300_000 };
/** A dependency that is unavailable and a lock that somebody holds are not the event's fault, for so long. */
const patienceMs = 24 * 3_600_000;

/** Thrown by a consumer that could not have a lock of these accounts. */
export class AccountsLocked extends Error {
  constructor(accountIds: readonly string[], cause?: unknown) {
    super(`another transaction holds the lock of ${accountIds.join(', ')}`, { cause });
  }
}

/** Returns how the `tries`th try of an event that first failed at `firstAt` ends: when the next one is due, if any. */
export function failedTry(error: unknown, tries: number, firstAt: Date, now: Date): FailedTry {
  const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  // Without what PostgreSQL cannot store.
  const reason = text.slice(0, 1_000).replaceAll('\0', '').toWellFormed();
  const isBlameless = isUnavailable(error) || error instanceof AccountsLocked;
  const isPatient = isBlameless && now.getTime() - firstAt.getTime() < patienceMs;
  const counted = isPatient ? tries - 1 : tries;
  if (counted >= maxEventTries) return { reason, tries: counted, dueAt: null };
  return { reason, tries: counted, dueAt: new Date(now.getTime() + backoffMs(eventBackoff, tries)) };
}
