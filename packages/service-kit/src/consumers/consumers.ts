import { setTimeout as sleep } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import type { Bus } from '../bus/bus.ts';
import { noEvent, type ReceivedEvent, type ReceivedMessage, readEvent } from '../bus/consume-loop.ts';
import type { Database, Sql } from '../database/database.ts';
import { isDatabaseUnavailable, isStatementTimeout, isUnavailable } from '../database/database-errors.ts';
import { WorkQueue } from '../due-work/work-queue.ts';
import { inWorkTransaction, type WorkContext } from '../jobs/jobs.ts';
import {
  claimFailedEvents,
  deleteFailedEvent,
  type FailedEventRow,
  type HeldTry,
  insertFailedEvents,
  noteFailedTries,
  waitingEvents,
} from '../outbox/failed-events.sql.ts';
import { AccountsLocked, deadEvents, eventBackoff, failedTry, maxEventTries } from '../outbox/failed-try.ts';
import { nothingPaused } from '../queues/pauses.ts';
import type { OwnerRuns } from '../queues/queues.ts';
import { withWorkContext } from '../telemetry/logging.ts';
import { meter } from '../telemetry/meter.ts';
import { inSpans } from '../telemetry/telemetry.ts';
import type { Consumer } from './consumer.ts';
import { ConsumerLease, inOrderPulls } from './consumer-lease.ts';

/** Delay before events come again that could not be taken for the moment. */
const retryDelayMs = 2_000;
/** So many events in a row that find something unavailable say that it is not their own fault. */
const maxUnavailable = 3;
/** Delay before events are tried again that are to be taken in order: they hold up what follows. */
const inOrderRetryMs = 500;
/** Time for which the events of an account are set aside untried, once one of them took as long as a statement may. */
const timedOutMs = 600_000;
/** Maximum number of such accounts per consumer. */
const maxTimedOut = 10_000;
/** Time that a try which failed holds its account's slot: thousands of them cost the others nothing. */
const pauseMs = 100;

const failed = meter.createCounter('events.failed_tries', { description: 'Tries of events that failed, by queue.' });

type EventMessage = ReceivedMessage & { event: ReceivedEvent };

/** Context of consumers, and what is taken again of one in this process, by account. */
type ConsumerContext<Resources> = WorkContext<Resources> & {
  retriesOf(consumer: string): readonly OwnerRuns[];
  /** Opens the one connection that the lease of a consumer has for good. */
  openSession(): Database;
};

/**
 * Starts a consumer on the bus. A batch that fails is taken again, event by event, and those that fail alone are set aside, each in a row, where
 * they delay nobody and are tried again. What is no event is dead at once. After one that took as long as a statement may, others of its account are set aside
 * untried for ten minutes, but where the order counts: each may take as long, and everybody behind it.
 */
export function startConsumer<Resources>(bus: Bus, consumer: Consumer<Resources>, context: ConsumerContext<Resources>) {
  const { name } = consumer;
  const { queues, clocks, clockWork } = context;
  // Accounts with an event that took as long as a statement may, and its error.
  const timedOut = new LRUCache<string, Error>({ max: maxTimedOut, ttl: timedOutMs });
  const takeBatch = async (batch: ReceivedMessage[]) => {
    // Where the order counts, no more than the rest of a batch is set aside untried.
    if (consumer.inOrder) timedOut.clear();
    const { accounts } = seat.paused();
    const aside: Aside[] = [];
    const events: EventMessage[] = [];
    for (const message of batch) {
      const untaken = untakenTry(message, accounts, timedOut, clocks.real());
      if (untaken) aside.push({ message, ...untaken });
      else events.push(message as EventMessage);
    }
    const untaken = aside.map(({ message }) => message);
    await orGiveBack(untaken, () => setAside(context, name, aside));
    // Events go by the clock of their account: those of the real time share a transaction.
    const clocked = new Set(events.flatMap(({ event }) => (clocks.toldBy(event) > 0 ? event.account : [])));
    const byClock = Map.groupBy(events, ({ event: { account } }) => (clocked.has(account) ? account : undefined));
    for (const part of byClock.values()) await orGiveBack(part, () => takeAll(part));
  };
  const takeAll = async (batch: EventMessage[]): Promise<void> => {
    try {
      await takeOnce(consumer, context, batch);
      for (const message of batch) message.acknowledge();
    } catch (error) {
      if (isDatabaseUnavailable(error)) throw error;
      await takeEach(consumer, context, batch, timedOut);
    }
  };
  let isStopping = false;
  // Gives messages back to the bus if the work with them fails, as while the database is unavailable. Those to be taken in order wait
  // here instead, so that none overtakes them, until the work is done or the process stops.
  const orGiveBack = async (messages: readonly ReceivedMessage[], work: () => Promise<void>) => {
    for (let attempt = 1; messages.length > 0; attempt++) {
      try {
        return await work();
      } catch (error) {
        const facts = { err: error, consumer: name, events: messages.length };
        if (attempt === 1) context.log.warn(facts, 'events wait; they come again');
        if (!consumer.inOrder) for (const message of messages) message.giveBack(retryDelayMs);
        if (!consumer.inOrder || isStopping) return;
        await sleep(inOrderRetryMs);
      }
    }
  };
  const batches = { size: consumer.batchSize, gatherMs: consumer.gatherMs ?? 0, ...(consumer.inOrder && inOrderPulls) };
  const running = bus.consume(name, consumer.filter, batches, takeBatch);
  const changed = () => running.setPaused(seat.paused().isWhole || lease?.isHeld === false);
  const session = consumer.inOrder && context.openSession();
  const lease =
    session && new ConsumerLease(name, { sql: session, bus, log: context.log, consuming: running, changed });
  let since: Date | undefined;
  // The bus does not tell since when events have waited without a break. Undefined while it is unavailable: nobody knows then.
  const pending = async () => {
    const found = await running.pending().catch(() => undefined);
    if (!found) return undefined;
    since = found.count === 0 ? undefined : (found.oldestAt ?? since ?? clocks.real());
    return { ready: found.count, oldest: since ?? null };
  };
  const seat = queues.open({
    queue: name,
    hasFailedEvents: true,
    running: () => context.retriesOf(name),
    pending,
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
      await session?.end({ timeout: 5 });
    },
  };
}

/** Returns how a message is set aside that is no event, or whose account is paused or timed out; undefined where it is to be taken. */
function untakenTry(
  { event }: ReceivedMessage,
  pausedAccounts: readonly string[],
  timedOut: LRUCache<string, Error>,
  now: Date,
): Omit<Aside, 'message'> | undefined {
  if (!event) return { reason: noEvent, tries: 1, dueAt: null };
  if (pausedAccounts.includes(event.account)) return { reason: 'paused', tries: 0, dueAt: 'infinity' };
  const error = timedOut.get(event.account);
  return error && { error, ...failedTry(error, 1, now, now) };
}

/**
 * Takes each event alone. After several in a row that find something unavailable, the rest stays with the bus for now; after one that
 * waited in vain for a lock, the others of its account are set aside untried: each would wait as long, and everybody behind it.
 */
async function takeEach<Resources>(
  consumer: Consumer<Resources>,
  context: WorkContext<Resources>,
  batch: EventMessage[],
  timedOut: LRUCache<string, Error>,
): Promise<void> {
  const failures: { message: EventMessage; error: unknown }[] = [];
  const locked = new Map<string, Error>();
  let unavailable = 0;
  for (const message of batch) {
    if (unavailable === maxUnavailable) {
      if (consumer.inOrder) throw failures.at(-1)!.error;
      message.giveBack(retryDelayMs);
      continue;
    }
    const { account } = message.event;
    const before = timedOut.get(account) ?? locked.get(account);
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
      if (error instanceof AccountsLocked) locked.set(account, error);
      unavailable = isUnavailable(error) ? unavailable + 1 : 0;
    }
  }
  const now = context.clocks.real();
  const aside = failures.map((failure) => ({ ...failure, ...failedTry(failure.error, 1, now, now) }));
  await setAside(context, consumer.name, aside);
}

/** A message that is not taken for now, how that is written, and the error, if there was one. */
type Aside = HeldTry & { message: ReceivedMessage; error?: unknown };

/** Writes messages to rows, which are tried again unless they are dead, and has the bus send them no more. Throws where they cannot be written. */
async function setAside(context: WorkContext<unknown>, queue: string, aside: readonly Aside[]): Promise<void> {
  if (aside.length === 0) return;
  await insertFailedEvents(context.sql, queue, aside, context.clocks.real());
  for (const { message } of aside) message.acknowledge();
  // No transaction of work has said so: the tries that follow are due later.
  context.watch.lookSoon();
  for (const { message, ...ended } of aside)
    noteTry(context, queue, { ...message, account: message.event?.account }, ended);
  const failures = aside.filter(({ error }) => error !== undefined);
  if (failures.length === 0) return;
  context.log.warn(
    { err: failures[0]!.error, queue, events: failures.slice(0, 10).map(({ message }) => message.event?.id) },
    `${failures.length} events failed; they are set aside and tried again`,
  );
}

/** Takes those of the events, which go by one clock, that were not taken before; their effect, their inbox rows and what `also` writes commit together. */
async function takeOnce<Resources>(
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

/** Takes events again that were set aside, until stopped: one of an account at a time, those that fail ten a second at most. */
export function startRetries<Resources>(
  bus: Bus,
  consumers: readonly Consumer<Resources>[],
  context: WorkContext<Resources>,
): WorkQueue<FailedEventRow, HeldTry | undefined> {
  const byName = new Map(consumers.map((consumer) => [consumer.name, consumer]));
  return new WorkQueue(
    { ...context, bus },
    {
      queue: 'failed-events',
      // Each event is shown under the name of its consumer.
      seat: { paused: () => nothingPaused, failed: () => undefined, close: () => undefined },
      table: waitingEvents,
      isByRealTime: true,
      concurrency: { most: 8, perLane: 1, keepsSlowApart: true },
      retries: { leaseMs: 30_000, backoff: eventBackoff },
      everyMs: 1_000,
      stopMs: 5_000,
      claim: claimFailedEvents,
      async run(row, signal) {
        const { isWhole, accounts } = context.queues.pauses.of(row.queue);
        const isPaused = isWhole || accounts.includes(row.account_id);
        if (isPaused) return { reason: row.reason, tries: row.attempts - 1, dueAt: 'infinity' };
        try {
          if (row.attempts > maxEventTries) throw new Error('the process ended while it took this event');
          const event = readEvent(row);
          if (!event) throw new Error(noEvent);
          const consumer = byName.get(row.queue);
          if (!consumer) throw new Error(`no consumer is called ${row.queue} any more`);
          await takeOnce(consumer, context, [{ event }], (tx) => deleteFailedEvent(tx, row));
          return undefined;
        } catch (error) {
          await sleep(pauseMs, undefined, { signal }).catch(() => undefined);
          return failedTry(error, row.attempts, row.first_at, context.clocks.real());
        }
      },
      settle: async (ended) => {
        const failures = ended.flatMap(({ row, result }) => (result ? [{ row, ...result }] : []));
        if (failures.length === 0) return;
        await noteFailedTries(context.sql, failures, context.clocks.real());
        for (const { row, ...held } of failures) noteTry(context, row.queue, { ...row, account: row.account_id }, held);
      },
    },
  );
}

/** Says of a try that it failed, and of an event that it is dead; nothing of one that a pause holds. */
function noteTry(
  { log, queues }: WorkContext<unknown>,
  queue: string,
  { subject, account }: { subject: string; account: string | undefined },
  { reason, dueAt }: HeldTry,
): void {
  if (dueAt === 'infinity') return;
  failed.add(1, { queue });
  queues.noteError(queue, reason);
  if (dueAt) return;
  deadEvents.add(1, { queue });
  log.error({ reason, queue, account, subject }, 'an event is dead');
}
