import type { RecordedEvent } from '@customer-platform/contracts/webhooks';
import type { EventRow } from './events.sql.ts';

/** Converts a row to an event of the API. */
export function toEvent({ envelope, sequence }: EventRow): RecordedEvent {
  return { ...(JSON.parse(envelope) as Omit<RecordedEvent, 'sequence'>), sequence };
}

/** Parses digits as a number, at most the largest safe integer. */
export function sequenceOf(digits: string): number {
  return Math.min(Number(digits), Number.MAX_SAFE_INTEGER);
}
