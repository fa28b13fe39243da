import type { ReceivedEvent } from '@customer-platform/service-kit';
import type { QueueKey } from './dispatch.sql.ts';
import type { HeldEndpoint } from './held-endpoint.ts';
import type { HeldQueues } from './held-queues.ts';
import type { DueDelivery } from './outcome.ts';

/** A delivery that was made and is to be tried, with its queue as it is since. */
export interface MadeDelivery extends QueueKey {
  id: string;
  eventId: string;
  /** The event's number in its account. */
  sequence: number;
  version: number;
  endpointVersion: number;
}

/**
 * Takes deliveries that this process has just made of events into the queues that it holds, instead of leasing and reading what it has in
 * memory. Returns the queues that took some, and whether they took all: what is left is due, and is to be looked for.
 */
export function takeMade(
  made: readonly MadeDelivery[],
  events: readonly ReceivedEvent[],
  queues: Pick<HeldQueues, 'ofRealTime'>,
): { taken: HeldEndpoint[]; hasAll: boolean } {
  // Of several with one id the first was taken, as in the database: what another service publishes under an event's id is not sent in its place.
  const byId = new Map(events.toReversed().map((event) => [keyOf(event.account, event.id), event]));
  const taken: HeldEndpoint[] = [];
  let hasAll = true;
  for (const [endpointId, ofEndpoint] of Map.groupBy(made, (one) => one.endpointId)) {
    const held = queues.ofRealTime(endpointId);
    const due = ofEndpoint.map((one) => dueDelivery(one, byId.get(keyOf(one.accountId, one.eventId))!));
    if (held?.takeMade(due, ofEndpoint[0]!)) taken.push(held);
    else hasAll = false;
  }
  return { taken, hasAll };
}

const keyOf = (account: string, id: string) => `${account} ${id}`.toLowerCase();

/** Returns a delivery that was just made as it would be read. */
function dueDelivery({ id, eventId, sequence }: MadeDelivery, { text, trace }: ReceivedEvent): DueDelivery {
  return { id, eventId, run: 0, step: 0, isManual: false, envelope: text, sequence, trace: trace ?? null };
}
