import type { RecordedEvent } from '@customer-platform/contracts/webhooks';
import type { EventRow } from './events.sql.ts';

/** An event as the API shows it: the envelope that is sent, with its number. */
export function toEvent({ envelope, sequence }: EventRow): RecordedEvent {
  return { ...(JSON.parse(envelope) as Omit<RecordedEvent, 'sequence'>), sequence };
}

/** The number that digits say; those beyond all that there can be are the last of them. */
export function sequenceOf(digits: string): number {
  return Math.min(Number(digits), Number.MAX_SAFE_INTEGER);
}
