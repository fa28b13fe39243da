import type { EventData, EventDefinition, ServiceName } from '@customer-platform/contracts/core';
import { type EventAccount, implementer, outboxRow, type Sql, writeOutbox } from '@customer-platform/service-kit';
import type { ChangeFeed } from './changes/change-feed.ts';
import type { InvalidKeyGuard } from './guard/invalid-key-guard.ts';

/** What admin operations share. */
export interface AdminResources {
  changes: ChangeFeed;
  guard: InvalidKeyGuard;
  /** Asks a service to publish its events since then again; answers how many that is. Throws 503. */
  republish(service: ServiceName, since: Date): Promise<number>;
  eventsCommitted(): void;
}

/** Makes an admin operation from its contract. */
export const implement = implementer<AdminResources>();

/** After a commit with events: the relay sends them. */
export function publishEvents(resources: AdminResources): void {
  resources.eventsCommitted();
}

/** After a commit with a recorded change: every gateway forgets what it knew. */
export function announceChange(resources: AdminResources): void {
  resources.changes.announce();
}

/**
 * Publishes an event with the transaction, as the account that it is about: the caller of an admin operation is the
 * operator, who has no account.
 */
export async function emitFor<Event extends EventDefinition>(
  tx: Sql,
  event: Event,
  account: EventAccount,
  data: EventData<Event>,
  now: Date,
): Promise<void> {
  await writeOutbox(tx, [outboxRow(event, account, data, now)]);
}
