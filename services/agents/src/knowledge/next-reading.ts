import type { Refresh } from '@customer-platform/contracts/agents';

const dayMs = 86_400_000;
const refreshMs: Record<Refresh, number | null> = { never: null, daily: dayMs, weekly: 7 * dayMs };

/** Returns when a source is next read on its schedule; null if never. */
export function nextReading({ refresh }: { refresh: Refresh | null }, now: Date): Date | null {
  const waitMs = refresh ? refreshMs[refresh] : null;
  return waitMs === null ? null : new Date(now.getTime() + waitMs);
}
