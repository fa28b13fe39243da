import { dayMs } from '@customer-platform/service-kit';

/** Returns the date `days` days before another one. */
export function dayBefore(day: string, days: number): string {
  return new Date(Date.parse(`${day}T00:00:00Z`) - days * dayMs).toISOString().slice(0, 10);
}
