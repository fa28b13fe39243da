import type { EventData, EventDefinition } from '@customer-platform/contracts/core';
import type { Bus, EventFilter } from './bus.ts';
import type { Delivery, ReceivedEvent } from './consume-loop.ts';
import { inWorkTransaction, type WorkCall, type WorkContext } from './jobs.ts';
import { withWorkContext } from './logging.ts';
import { inSpans, meter } from './telemetry.ts';

/** How long a failed event waits before it comes again. */
const retryDelayMs = 2_000;

/** What one durable consumer takes and does. Its effect and its inbox rows commit together, then the bus is told. */
export interface Consumer<Resources> {
  name: string;
  filter: EventFilter;
  batchSize: number;
  /** Gets only events that this consumer has not taken before; order is the stream's. */
  take(call: WorkCall<Resources>, events: ReceivedEvent[]): Promise<void>;
  /** Runs after the commit: to wake work, never to change data. */
  committed?(resources: Resources): void;
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

/** Starts a consumer on the bus. A batch that fails is taken again event by event, so that one bad event stops no other. */
export function startConsumer<Resources>(bus: Bus, consumer: Consumer<Resources>, context: WorkContext<Resources>) {
  const takeBatch = async (batch: Delivery[]) => {
    try {
      await takeOnce(consumer, context, batch);
    } catch (error) {
      if (batch.length > 1) {
        for (const delivery of batch) await takeBatch([delivery]);
        return;
      }
      const [{ event }] = batch as [Delivery];
      context.log.error(
        { err: error, consumer: consumer.name, event_id: event.id },
        'an event could not be taken; it comes again',
      );
      batch[0]!.giveBack(retryDelayMs);
    }
  };
  const running = bus.consume(consumer.name, consumer.filter, consumer.batchSize, takeBatch);
  const lag = meter.createObservableGauge('consumer.pending', {
    description: 'Events that a consumer has not finished.',
  });
  const observe = async (result: { observe(value: number, attributes: Record<string, string>): void }) => {
    result.observe(await running.pending(), { consumer: consumer.name });
  };
  lag.addCallback(observe);
  return {
    stop: async () => {
      lag.removeCallback(observe);
      await running.stop();
    },
  };
}

async function takeOnce<Resources>(consumer: Consumer<Resources>, context: WorkContext<Resources>, batch: Delivery[]) {
  const events = batch.map((delivery) => delivery.event);
  const work = (received: ReceivedEvent[]) =>
    inWorkTransaction(context, async (call) => {
      const fresh = await call.tx<{ event_id: string }[]>`
        insert into inbox (account_id, event_id, consumer)
        select account_id, event_id, ${consumer.name}
        from unnest(${events.map((event) => event.account)}::uuid[], ${events.map((event) => event.id)}::uuid[]) as taken (account_id, event_id)
        on conflict do nothing returning event_id`;
      const ids = new Set(fresh.map((row) => row.event_id));
      const unseen = received.filter((event) => ids.delete(event.id));
      if (unseen.length > 0) await consumer.take(call, unseen);
    });
  const attributes = { 'messaging.system': 'nats', 'messaging.batch.message_count': events.length };
  const traces = events.map((event) => event.trace);
  await withWorkContext(events.length === 1 ? { eventId: events[0]!.id } : {}, () =>
    inSpans(`consume ${consumer.name}`, attributes, traces, (continued) =>
      work(events.map((event, index) => ({ ...event, trace: continued[index] }))),
    ),
  );
  consumer.committed?.(context.resources);
  for (const delivery of batch) delivery.acknowledge();
}
