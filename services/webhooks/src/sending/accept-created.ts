import type { ReceivedEvent } from '@customer-platform/service-kit';
import type { QueueKey } from './dispatch.sql.ts';
import type { HeldEndpoint } from './held-endpoint.ts';
import type { HeldQueues } from './held-queues.ts';
import type { DueDelivery } from './outcome.ts';

/** A delivery that was just created, with the resulting version of its queue. */
export interface CreatedDelivery extends QueueKey {
  id: string;
  eventId: string;
  /** The event's number within its account. */
  sequence: number;
  version: number;
  endpointVersion: number;
}

/**
 * Adds deliveries that this process just created to the queues it holds, which saves a lease and a read. Returns the
 * queues that accepted some and whether all were accepted. The others are due and must be looked for.
 */
export function acceptCreated(
  made: readonly CreatedDelivery[],
  events: readonly ReceivedEvent[],
  queues: Pick<HeldQueues, 'ofRealTime'>,
): { taken: HeldEndpoint[]; hasAll: boolean } {
  // If several events share an id, the database keeps the first. A later one must not be sent in its place.
  const byId = new Map(events.toReversed().map((event) => [keyOf(event.account, event.id), event]));
  const taken: HeldEndpoint[] = [];
  let hasAll = true;
  for (const [endpointId, ofEndpoint] of Map.groupBy(made, (one) => one.endpointId)) {
    const held = queues.ofRealTime(endpointId);
    const due = ofEndpoint.map((one) => dueDelivery(one, byId.get(keyOf(one.accountId, one.eventId))!));
    if (held?.acceptCreated(due, ofEndpoint[0]!)) taken.push(held);
    else hasAll = false;
  }
  return { taken, hasAll };
}

const keyOf = (account: string, id: string) => `${account} ${id}`.toLowerCase();

/** Returns a created delivery in the form in which it would be read. */
function dueDelivery({ id, eventId, sequence }: CreatedDelivery, { text, trace }: ReceivedEvent): DueDelivery {
  return { id, eventId, run: 0, step: 0, isManual: false, envelope: text, sequence, trace: trace ?? null };
}
