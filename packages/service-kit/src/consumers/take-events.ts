import type { ReceivedEvent, ReceivedMessage } from '../bus/consume-loop.ts';
import type { Sql } from '../database/database.ts';
import { isStatementTimeout, isUnavailable } from '../database/database-errors.ts';
import { inWorkTransaction, type WorkContext } from '../jobs/jobs.ts';
import { withWorkContext } from '../telemetry/logging.ts';
import { inSpans } from '../telemetry/telemetry.ts';
import type { Consumer } from './consumer.ts';
import { type FailedMessage, setAside } from './failed-events.ts';

/** Delay before events come again that could not be taken for the moment. */
export const retryDelayMs = 2_000;
/** So many events in a row that find something unavailable say that it is not their own fault. */
const maxUnavailable = 3;

/** Accounts with an event that took as long as a statement may, and its error. */
export interface TimedOutAccounts {
  get(accountId: string): Error | undefined;
  set(accountId: string, error: Error): unknown;
}

export type EventMessage = ReceivedMessage & { event: ReceivedEvent };

/** Sorts a batch by what becomes of its messages: of accounts that timed out they are set aside untried. */
export function sortBatch(
  batch: readonly ReceivedMessage[],
  pausedAccounts: readonly string[],
  timedOut: Pick<TimedOutAccounts, 'get'>,
) {
  const { rubbish = [], ...ofEvents } = Object.groupBy(batch, ({ event }) => {
    if (event === undefined) return 'rubbish';
    if (pausedAccounts.includes(event.account)) return 'paused';
    return timedOut.get(event.account) ? 'untried' : 'events';
  });
  const { paused = [], untried = [], events = [] } = ofEvents as Partial<Record<keyof typeof ofEvents, EventMessage[]>>;
  return { rubbish, paused, untried, events };
}

/**
 * Takes each event alone. After several in a row that find something unavailable, the rest stays with the bus for now; after one that
 * waited in vain for a lock, the others of its account are set aside untried: each would wait as long, and everybody behind it.
 */
export async function takeEach<Resources>(
  consumer: Consumer<Resources>,
  context: WorkContext<Resources>,
  batch: EventMessage[],
  timedOut: TimedOutAccounts,
): Promise<void> {
  const failures: FailedMessage[] = [];
  let unavailable = 0;
  for (const message of batch) {
    if (unavailable === maxUnavailable) {
      if (consumer.inOrder) throw failures.at(-1)!.error;
      message.giveBack(retryDelayMs);
      continue;
    }
    const { account } = message.event;
    const before = timedOut.get(account);
    if (before) {
      failures.push({ message, error: before });
      continue;
    }
    try {
      await takeOnce(consumer, context, [message]);
      message.acknowledge();
      unavailable = 0;
    } catch (error) {
      failures.push({ message, error });
      if (isStatementTimeout(error)) timedOut.set(account, error);
      unavailable = isUnavailable(error) ? unavailable + 1 : 0;
    }
  }
  if (failures.length > 0) await setAside(context, consumer.name, failures);
}

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
