import type { ReceivedEvent } from '../bus/consume-loop.ts';
import type { Sql } from '../database/database.ts';
import { inWorkTransaction, type WorkContext } from '../jobs/jobs.ts';
import { withWorkContext } from '../telemetry/logging.ts';
import { inSpans } from '../telemetry/telemetry.ts';
import type { Consumer } from './consumer.ts';

/** Takes those of the events, which go by one clock, that were not taken before; their effect, their inbox rows and what `also` writes commit together. */
export async function takeOnce<Resources>(
  consumer: Consumer<Resources>,
  context: WorkContext<Resources>,
  batch: readonly { event: ReceivedEvent }[],
  also: (tx: Sql) => Promise<void> = async () => undefined,
) {
  const events = batch.map(({ event }) => event);
  const { clocks } = context;
  // Of several accounts none has a clock of its own, also where one got it since they were put together.
  const account = events.every((event) => event.account === events[0]!.account) ? events[0]!.account : undefined;
  const toldMs = account === undefined ? 0 : Math.max(...events.map((event) => clocks.toldBy(event)));
  const work = (received: ReceivedEvent[]) =>
    inWorkTransaction(context, async (call) => {
      const unseen = consumer.knowsTaken ? received : await notTaken(call.tx, consumer.name, received);
      const taken = unseen.length > 0 ? await consumer.take(call, unseen) : undefined;
      await also(call.tx);
      return taken;
    });
  const attributes = {
    'messaging.system': 'nats',
    'messaging.operation.name': 'process',
    'messaging.operation.type': 'process',
    'messaging.consumer.group.name': consumer.name,
    ...(events.length > 1 ? { 'messaging.batch.message_count': events.length } : {}),
  };
  const traced = events.map(({ id, type, account, trace }) => ({
    parent: trace,
    attributes: { 'messaging.destination.name': type, 'messaging.message.id': id, 'platform.account': account },
  }));
  const taken = await withWorkContext(events.length === 1 ? { eventId: events[0]!.id } : {}, () =>
    inSpans(`process ${consumer.name}`, attributes, traced, (continued) =>
      clocks.by(account, () => work(events.map((event, index) => ({ ...event, trace: continued[index] }))), toldMs),
    ),
  );
  consumer.committed?.(context.resources, events, taken);
  if (account !== undefined) context.clockWork.wake(account);
}

/** Notes events in the inbox of a consumer; returns those that were not there. */
async function notTaken(tx: Sql, consumer: string, events: readonly ReceivedEvent[]): Promise<ReceivedEvent[]> {
  const fresh = await tx<{ account_id: string; event_id: string }[]>`
    insert into inbox (account_id, event_id, consumer)
    select account_id, event_id, ${consumer}
    from unnest(${events.map((event) => event.account)}::uuid[], ${events.map((event) => event.id)}::uuid[]) as taken (account_id, event_id)
    on conflict do nothing returning account_id, event_id`;
  // An id is its account's: others may have it too.
  const keys = new Set(fresh.map((row) => `${row.account_id} ${row.event_id}`));
  return events.filter((event) => keys.delete(`${event.account} ${event.id}`.toLowerCase()));
}
