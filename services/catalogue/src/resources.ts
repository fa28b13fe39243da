import { type BaseConfig, type Foundation, implementer, WorkQueue } from '@customer-platform/service-kit';
import { messageHandover } from './orders/message-handover.ts';
import type { PendingMessage } from './orders/pending-messages.sql.ts';

/** What this service's operations share. */
export type CatalogueResources = { handover: WorkQueue<PendingMessage, true> };

/** The `implement` of this service. */
export const implement = implementer<CatalogueResources>();

/** Starts handing messages over; `stop` ends it after those under way. */
export async function makeResources(foundation: Foundation<BaseConfig>) {
  const handover = new WorkQueue(foundation, messageHandover(foundation));
  return { handover, stop: () => handover.stop() };
}
