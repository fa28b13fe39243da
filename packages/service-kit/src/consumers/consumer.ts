import type { EventData, EventDefinition } from '@customer-platform/contracts/core';
import type { EventFilter } from '../bus/bus.ts';
import type { ReceivedEvent } from '../bus/consume-loop.ts';
import type { WorkCall } from '../jobs/jobs.ts';

/** One durable consumer. Its effect and its inbox rows commit together, then the bus is told. `Taken` is what it returns of its effect. */
export interface Consumer<Resources, Taken = unknown> {
  name: string;
  filter: EventFilter;
  batchSize: number;
  /** Time in milliseconds that events are gathered, unless there is a whole batch before: one transaction for many. Left out: none. */
  gatherMs?: number;
  /**
   * Its events are taken in the order of the stream, by one process at a time: what cannot be taken for the moment is tried again before what
   * follows. Only what is set aside, since it fails by itself, is taken later.
   */
  inOrder?: true;
  /** It knows by rows of its own what it has taken, and passes that over: it has no rows in the inbox. */
  knowsTaken?: true;
  /** Gets only events that this consumer has not taken before, unless it knows them by itself; order is the stream's. */
  take(call: WorkCall<Resources>, events: ReceivedEvent[]): Promise<Taken>;
  /** Runs after the commit, with the events and what `take` returned, undefined where all were taken before: to wake work, not to change data. */
  committed?(resources: Resources, events: readonly ReceivedEvent[], taken: Taken | undefined): void;
}

/** A consumer of one kind of event, one event at a time: `onContactMerged = onEvent(contactMerged, async (call, event) => …)`. */
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
