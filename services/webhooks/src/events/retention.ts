import { dayMs } from '@customer-platform/service-kit';

/** For how long events, and the deliveries made of them, are kept and shown. */
const retentionMs = 30 * dayMs;

/** Events that were taken at this instant or before are over at `now`. */
export function oldestKept(now: Date): Date {
  return new Date(now.getTime() - retentionMs);
}
