import { dayMs, type PartitionedTable, uuidAt } from '@customer-platform/service-kit';

/** How long events and their deliveries are shown and kept, in ms. */
export interface Retention {
  shownMs: number;
  /** A row whose id is older may be dropped. */
  keptMs: number;
}

/**
 * The bus can deliver an event up to a week late; its id is then a week older than its row. A delivery that is redelivered
 * on its last day also needs time for its attempts.
 */
const beyondMs = 7 * dayMs;

/** Returns the retention for a number of days. */
export function retentionOf(days: number): Retention {
  return { shownMs: days * dayMs, keptMs: days * dayMs + beyondMs };
}

/** Returns the time at or before which events and deliveries are no longer shown. */
export function oldestShown(now: Date, { shownMs }: Retention): Date {
  return new Date(now.getTime() - shownMs);
}

/** Returns the lowest id not older than `keptMs`. Uses the system clock, which also creates the ids. */
export function oldestIdKept(keptMs: number): string {
  return uuidAt(Date.now() - keptMs);
}

/** Up to this retention in days, a partition spans one day (`tries`) or one week. Beyond it, they are longer and so fewer: each slows every list. */
const maxDaysOfShortPartitions = 60;

/** Returns the tables partitioned by time. Deliveries use weeks, because every read of due or listed rows visits each partition. */
export function partitionsOf({ shownMs, keptMs }: Retention): PartitionedTable[] {
  const length = Math.ceil(shownMs / dayMs / maxDaysOfShortPartitions);
  const weeks = { days: 7 * length, ahead: Math.ceil(3 / length), keptMs };
  return [
    { table: 'events', ...weeks },
    { table: 'deliveries', ...weeks },
    { table: 'tries', days: length, ahead: Math.ceil(14 / length), keptMs },
  ];
}
