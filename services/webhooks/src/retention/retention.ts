import { dayMs, type PartitionedTable, uuidAt } from '@customer-platform/service-kit';

/** For how long events, and the deliveries made of them, are shown and kept, in milliseconds. */
export interface Retention {
  shownMs: number;
  /** Age by its id at which a row may be gone. */
  keptMs: number;
}

/**
 * An event's id is up to a week older than the row when the bus was late with it, and a delivery that is asked for again on its last day has
 * its schedule before it.
 */
const beyondMs = 7 * dayMs;

/** Returns the retention of so many days. */
export function retentionOf(days: number): Retention {
  return { shownMs: days * dayMs, keptMs: days * dayMs + beyondMs };
}

/** Events that were taken at this instant or before, and deliveries made then, are over at `now`: shown no more. */
export function oldestShown(now: Date, { shownMs }: Retention): Date {
  return new Date(now.getTime() - shownMs);
}

/** Returns the least id that is not older than `keptMs`, by the machine's clock: ids are made by it, whatever a process takes for now. */
export function oldestIdKept(keptMs: number): string {
  return uuidAt(Date.now() - keptMs);
}

/** Days of retention up to which partitions are days and weeks; of more of them they are longer, since each costs every list. */
const daysInDays = 60;

/** Returns the tables that are partitioned by time: deliveries by week, for whatever is due or listed is read from each partition. */
export function partitionsOf({ shownMs, keptMs }: Retention): PartitionedTable[] {
  const length = Math.ceil(shownMs / dayMs / daysInDays);
  const weeks = { days: 7 * length, ahead: Math.ceil(3 / length), keptMs };
  return [
    { table: 'events', ...weeks },
    { table: 'deliveries', ...weeks },
    { table: 'tries', days: length, ahead: Math.ceil(14 / length), keptMs },
  ];
}
