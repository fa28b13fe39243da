import { type Bus, implementer } from '@customer-platform/service-kit';
import type { ChangeFeed } from '../changes/change-feed.ts';
import type { Traces } from '../collector/traces.ts';
import type { InvalidKeys } from '../limits/invalid-keys.ts';
import type { AnnouncedOperations } from '../routes/announced-operations.ts';
import type { QueueHistory } from './queue-history.ts';
import type { Services } from './services.ts';

/** Resources of admin operations. */
export interface AdminResources {
  changes: ChangeFeed;
  invalidKeys: InvalidKeys;
  bus: Bus;
  services: Services;
  routes: AnnouncedOperations;
  queueHistory: QueueHistory;
  traces: Traces;
  eventsCommitted(): void;
}

/** Binds an admin operation to its contract. */
export const implement = implementer<AdminResources>();
