import { ApiError } from '@customer-platform/contracts/core';
import { jsonBytes } from '@customer-platform/service-kit';
import type { HistoryRow } from './appointments.sql.ts';

/**
 * Limit in bytes of JSON, since each event contains the history and must stay below 900 KiB. More than 1,500 moves fit. Confirming, completing,
 * canceling and marking as a no-show are always possible: they add at most three entries of at most 1.5 KiB.
 */
const maxHistoryBytes = 262_144;

/** Throws invalid_request with the changed input as `field` if the history exceeds 256 KiB of JSON. */
export function checkHistorySize(history: readonly HistoryRow[], field: string): void {
  if (jsonBytes(history) <= maxHistoryBytes) return;
  const rule = `${field} must stay unchanged: the appointment's history is full; book a new appointment`;
  throw new ApiError('invalid_request', rule, { field });
}
