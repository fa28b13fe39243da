import type { EventData, EventDefinition } from '@customer-platform/contracts/core';
import {
  type Bus,
  type EventAccount,
  implementer,
  outboxRow,
  type Sql,
  writeOutbox,
} from '@customer-platform/service-kit';
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

/**
 * Publishes an event with the transaction, on behalf of the account that it is about: the caller of an admin operation
 * is the operator, who has no account.
 */
export async function emitFor<Event extends EventDefinition>(
  { tx, now }: { tx: Sql; now: Date },
  event: Event,
  account: EventAccount,
  data: EventData<Event>,
): Promise<void> {
  await writeOutbox(tx, [outboxRow(event, account, data, now)]);
}
