import type { EventData, EventDefinition } from '@customer-platform/contracts/core';
import type { EventFilter } from '../bus/bus.ts';
import type { ReceivedEvent } from '../bus/consume-loop.ts';
import type { WorkCall } from '../jobs/jobs.ts';

/** One durable consumer. Its effect and inbox rows commit together, then it acknowledges to the bus. `Taken` is the result of `take`. */
export interface Consumer<Resources, Taken = unknown> {
  name: string;
  filter: EventFilter;
  batchSize: number;
  /** Time in milliseconds to gather events into one transaction, unless the batch is full before; 0 unless given. */
  gatherMs?: number;
  /**
   * Takes events in stream order, in one process at a time. An event that cannot be taken for now is retried before later ones. Only events that are
   * set aside, since they fail by themselves, are taken later.
   */
  inOrder?: true;
  /** The consumer recognizes events it has taken by rows of its own and skips them. It has no inbox rows. */
  deduplicates?: true;
  /** Gets only events that this consumer has not taken yet, unless it has `deduplicates`, in stream order. */
  take(call: WorkCall<Resources>, events: ReceivedEvent[]): Promise<Taken>;
  /** Runs after the commit with the events and the result of `take`, undefined if all were taken before. May wake work, not change data. */
  committed?(resources: Resources, events: readonly ReceivedEvent[], taken: Taken | undefined): void;
}

/** Returns a consumer that takes one kind of event singly: `onContactMerged = onEvent(contactMerged, async (call, event) => …)`. */
export function onEvent<Definition extends EventDefinition, Resources = undefined>(
  definition: Definition,
  take: (call: WorkCall<Resources>, event: ReceivedEvent<EventData<Definition>>) => Promise<void>,
): Consumer<Resources> {
  const { kind, audience, service } = definition;
  return {
    name: kind,
    filter: { audience, service, kind },
    batchSize: 100,
    async take(call, events) {
      for (const event of events) await take(call, event as ReceivedEvent<EventData<Definition>>);
    },
  };
}
