import { setTimeout as sleep } from 'node:timers/promises';
import type { EventData, EventDefinition } from '@customer-platform/contracts/core';
import { z } from 'zod';
import { AccountsLocked } from './accounts-locked.ts';
import type { Bus, EventFilter } from './bus.ts';
import type { ReceivedEvent, ReceivedMessage } from './consume-loop.ts';
import { ConsumerLease, inOrderPulls } from './consumer-lease.ts';
import { isDatabaseUnavailable, isStatementTimeout, isUnavailable, type Sql } from './database.ts';
import { WorkQueue } from './due-work/work-queue.ts';
import { deleteFailedEvent, type FailedEventRow, type HeldTry } from './failed-events.sql.ts';
import { buryRubbish, type FailedMessage, failedEventsQueue, setAside, setPausedAside } from './failed-events.ts';
import { inWorkTransaction, type WorkCall, type WorkContext } from './jobs.ts';
import { type Logger, withWorkContext } from './logging.ts';
import { PendingLag } from './pending-lag.ts';
import type { OwnerRuns } from './queues/queues.ts';
import { inSpans } from './telemetry.ts';

/** Delay before events come again that could not be taken for the moment. */
const retryDelayMs = 2_000;
/** The same of those to be taken in order, which hold up what follows. */
const inOrderRetryMs = 500;
/** So many events in a row that find something unavailable say that it is not their own fault. */
const maxUnavailable = 3;

/** One durable consumer. Its effect and its inbox rows commit together, then the bus is told. `Taken` is what it returns of its effect. */
export interface Consumer<Resources, Taken = unknown> {
  name: string;
  filter: EventFilter;
  /** Events whose data it reads: what is not of its kind's shape is found by that, once its batch failed, instead of by trying each. */
  events?: readonly EventDefinition[];
  batchSize: number;
  /**
   * Time in milliseconds that events are gathered before they are taken, unless there is a whole batch before: what nobody waits for costs a
   * transaction for many instead of one each. Left out: none.
   */
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
  /**
   * Runs after the commit, with the events that were to be taken and what `take` returned, undefined where all were taken before: to wake
   * work, never to change data.
   */
  committed?(resources: Resources, events: readonly ReceivedEvent[], taken: Taken | undefined): void;
}

/** Context of consumers, and what is taken again of one in this process, by account. */
type ConsumerContext<Resources> = WorkContext<Resources> & {
  retriesOf(consumer: string): readonly OwnerRuns[];
};

/** A consumer of one kind of event, one event at a time: `onContactMerged = onEvent(contactMerged, async (call, event) => …)`. */
export function onEvent<Definition extends EventDefinition, Resources = undefined>(
  definition: Definition,
  take: (call: WorkCall<Resources>, event: ReceivedEvent<EventData<Definition>>) => Promise<void>,
): Consumer<Resources> {
  const { kind, audience, service } = definition;
  return {
    name: kind,
    filter: { audience, service, kind },
    events: [definition],
    batchSize: 100,
    async take(call, events) {
      for (const event of events) await take(call, event as ReceivedEvent<EventData<Definition>>);
    },
  };
}

/**
 * Starts a consumer on the bus. Of a batch that fails the events with data of another shape, or of locked accounts, are set aside, each
 * in a row, where they delay nobody and are tried again; the rest is taken again, event by event if need be, and those that fail alone
 * are set aside too. What is no event is dead at once.
 */
export function startConsumer<Resources>(bus: Bus, consumer: Consumer<Resources>, context: ConsumerContext<Resources>) {
  const { name } = consumer;
  const { queues, clocks, clockWork } = context;
  const takeBatch = async (batch: ReceivedMessage[]) => {
    const rubbish = batch.filter(({ event }) => !event);
    const { accounts } = seat.paused();
    const isPaused = ({ event }: EventMessage) => accounts.includes(event.account);
    const all = batch.filter(isEvent);
    const paused = all.filter(isPaused);
    const events = all.filter((message) => !isPaused(message));
    if (paused.length > 0) await orGiveBack(paused, () => setPausedAside(context, name, paused));
    if (rubbish.length > 0) await orGiveBack(rubbish, () => buryRubbish(context, name, rubbish));
    // Events go by the clock of their account: those of the real time in one transaction, as ever.
    for (const part of events.length > 0 ? context.clocks.split(events, ({ event }) => event.account) : []) {
      await orGiveBack(part, () => takeAll(part));
    }
  };
  const takeAll = async (batch: EventMessage[]): Promise<void> => {
    try {
      await takeOnce(consumer, context, batch);
      for (const message of batch) message.acknowledge();
    } catch (error) {
      if (isDatabaseUnavailable(error)) throw error;
      const { others, faulty } = error instanceof AccountsLocked ? byLock(error, batch) : byShape(consumer, batch);
      if (faulty.length === 0) return await orGiveBack(batch, () => takeEach(consumer, context, batch));
      await orGiveBack(
        faulty.map(({ message }) => message),
        () => setAside(context, name, faulty),
      );
      if (others.length > 0) await orGiveBack(others, () => takeAll(others));
    }
  };
  let isStopping = false;
  const orGiveBack = giveBackWhatFails(consumer, context.log, () => isStopping);
  const pulls = consumer.inOrder ? inOrderPulls : undefined;
  const batches = { size: consumer.batchSize, gatherMs: consumer.gatherMs ?? 0, ...pulls };
  const running = bus.consume(name, consumer.filter, batches, takeBatch);
  const lag = new PendingLag(running, clocks.real);
  const changed = () => running.setPaused(seat.paused().isWhole || lease?.isHeld === false);
  const lease =
    consumer.inOrder &&
    new ConsumerLease(name, { sql: context.sql, bus, log: context.log, consuming: running, changed });
  const seat = queues.open({
    queue: name,
    hasFailedEvents: true,
    running: () => context.retriesOf(name),
    pending: () => lag.measure(),
    changed,
  });
  changed();
  const unregister = clockWork.registerConsumer({
    queue: name,
    hasPassed: (position) => running.hasPassed(position),
  });
  return {
    stop: async () => {
      isStopping = true;
      unregister();
      seat.close();
      await running.stop();
      await lease?.stop();
    },
  };
}

/**
 * Returns what does work with messages, and where it fails gives these back to the bus, as while the database is unavailable. Those to be
 * taken in order wait here instead, so that none overtakes them, until the work is done or the process stops.
 */
function giveBackWhatFails(
  { name, inOrder }: Pick<Consumer<never>, 'name' | 'inOrder'>,
  log: Logger,
  isStopping: () => boolean,
) {
  return async (messages: readonly ReceivedMessage[], work: () => Promise<void>) => {
    for (let attempt = 1; ; attempt++) {
      try {
        return await work();
      } catch (error) {
        const facts = { err: error, consumer: name, events: messages.length };
        if (attempt === 1) log.warn(facts, 'events wait; they come again');
        if (!inOrder) for (const message of messages) message.giveBack(retryDelayMs);
        if (!inOrder || isStopping()) return;
        await sleep(inOrderRetryMs);
      }
    }
  };
}

/** Takes events again that the consumers could not take at first, until stopped. */
export function startRetries<Resources>(
  bus: Bus,
  consumers: readonly Consumer<Resources>[],
  context: WorkContext<Resources>,
): WorkQueue<FailedEventRow, HeldTry | undefined> {
  const { pauses } = context.queues;
  const isPaused = ({ queue, account_id }: FailedEventRow) => {
    const { isWhole, accounts } = pauses.of(queue);
    return isWhole || accounts.includes(account_id);
  };

  const byName = new Map(consumers.map((consumer) => [consumer.name, consumer]));
  const takeAgain = async (queue: string, event: ReceivedEvent, row: FailedEventRow) => {
    const consumer = byName.get(queue);
    if (!consumer) throw new Error(`no consumer is called ${queue} any more`);
    await takeOnce(consumer, context, [{ event }], (tx) => deleteFailedEvent(tx, row));
  };
  const foundation = { ...context, bus };
  return new WorkQueue(foundation, failedEventsQueue(context, { takeAgain, isPaused }));
}

type EventMessage = ReceivedMessage & { event: ReceivedEvent };

function isEvent(message: ReceivedMessage): message is EventMessage {
  return message.event !== undefined;
}

/**
 * Takes each event alone. After several in a row that find something unavailable, the rest stays with the bus for now; after one that
 * waited in vain for a lock, the others of its account are set aside untried: each would wait as long, and everybody behind it.
 */
async function takeEach<Resources>(
  consumer: Consumer<Resources>,
  context: WorkContext<Resources>,
  batch: EventMessage[],
): Promise<void> {
  const failures: FailedMessage[] = [];
  const timeouts = new Map<string, unknown>();
  let unavailable = 0;
  for (const message of batch) {
    if (unavailable === maxUnavailable) {
      if (consumer.inOrder) throw failures.at(-1)!.error;
      message.giveBack(retryDelayMs);
      continue;
    }
    const { account } = message.event;
    if (timeouts.has(account)) {
      failures.push({ message, error: timeouts.get(account) });
      continue;
    }
    try {
      await takeOnce(consumer, context, [message]);
      message.acknowledge();
      unavailable = 0;
    } catch (error) {
      failures.push({ message, error });
      if (isStatementTimeout(error)) timeouts.set(account, error);
      unavailable = isUnavailable(error) ? unavailable + 1 : 0;
    }
  }
  if (failures.length > 0) await setAside(context, consumer.name, failures);
}

/** Separates the events of accounts of which a lock is held. */
function byLock(error: AccountsLocked, batch: EventMessage[]) {
  const isLocked = ({ event }: EventMessage) => error.accounts.has(event.account);
  const faulty = batch.filter(isLocked).map((message): FailedMessage => ({ message, error }));
  return { others: batch.filter((message) => !isLocked(message)), faulty };
}

/** Separates the events whose data is not what their kind's definition says. */
function byShape({ events = [] }: Pick<Consumer<never>, 'events'>, batch: EventMessage[]) {
  const others: EventMessage[] = [];
  const faulty: FailedMessage[] = [];
  for (const message of batch) {
    const { type, data } = message.event;
    const { error } = events.find(({ kind }) => kind === type)?.data.safeParse(data) ?? {};
    if (error) faulty.push({ message, error: new Error(`data is no ${type}: ${z.prettifyError(error)}`) });
    else others.push(message);
  }
  return { others, faulty };
}

/** Takes those of the events, which go by one clock, that were not taken before; their effect, their inbox rows and what `also` writes commit together. */
async function takeOnce<Resources>(
  consumer: Consumer<Resources>,
  context: WorkContext<Resources>,
  batch: readonly { event: ReceivedEvent }[],
  also: (tx: Sql) => Promise<void> = async () => undefined,
) {
  const events = batch.map(({ event }) => event);
  const { account } = events[0]!;
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
      context.clocks.by(account, () => work(events.map((event, index) => ({ ...event, trace: continued[index] })))),
    ),
  );
  consumer.committed?.(context.resources, events, taken);
  context.clockWork.wake(account);
}

/** Notes events in the inbox of a consumer; returns those that were not there. */
async function notTaken(tx: Sql, consumer: string, events: readonly ReceivedEvent[]): Promise<ReceivedEvent[]> {
  const fresh = await tx<{ event_id: string }[]>`
    insert into inbox (account_id, event_id, consumer)
    select account_id, event_id, ${consumer}
    from unnest(${events.map((event) => event.account)}::uuid[], ${events.map((event) => event.id)}::uuid[]) as taken (account_id, event_id)
    on conflict do nothing returning event_id`;
  const ids = new Set(fresh.map((row) => row.event_id));
  return events.filter((event) => ids.delete(event.id.toLowerCase()));
}
