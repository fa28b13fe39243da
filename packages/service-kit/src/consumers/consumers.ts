import { setTimeout as sleep } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import type { Bus } from '../bus/bus.ts';
import { noEvent, type ReceivedEvent, type ReceivedMessage, readEvent } from '../bus/consume-loop.ts';
import type { Database, Sql } from '../database/database.ts';
import { isDatabaseUnavailable, isStatementTimeout, isUnavailable } from '../database/database-errors.ts';
import { WorkQueue } from '../due-work/work-queue.ts';
import { inWorkTransaction, type WorkContext } from '../jobs/jobs.ts';
import { AccountsLocked, deadEvents, eventBackoff, failedAttempt, maxEventAttempts } from '../outbox/failed-attempt.ts';
import {
  claimFailedEvents,
  deleteFailedEvent,
  type FailedEventRow,
  type HeldAttempt,
  insertFailedEvents,
  recordFailedAttempts,
  waitingEvents,
} from '../outbox/failed-events.sql.ts';
import { nothingPaused } from '../queues/pauses.ts';
import type { OwnerRuns } from '../queues/queues.ts';
import { withWorkContext } from '../telemetry/logging.ts';
import { meter } from '../telemetry/meter.ts';
import { inSpans } from '../telemetry/telemetry.ts';
import type { Consumer } from './consumer.ts';
import { ConsumerLease, inOrderPulls } from './consumer-lease.ts';

/** Delay before the bus redelivers events that could not be taken for now. */
const retryDelayMs = 2_000;
/** Number of consecutive events that fail because something is unavailable before the rest wait: the events are not at fault. */
const maxUnavailable = 3;
/** Delay before in-order events are retried; they hold up the events after them. */
const inOrderRetryMs = 500;
/** Time for which an account's events are set aside without an attempt after one of them hit the statement timeout. */
const timedOutMs = 600_000;
/** Maximum number of such accounts per consumer. */
const maxTimedOut = 10_000;
/** Time that a failed attempt keeps its account's slot, so that thousands of failures do not slow other accounts. */
const pauseMs = 100;

const failed = meter.createCounter('events.failed_tries', { description: 'Failed attempts to take events, by queue.' });

type EventMessage = ReceivedMessage & { event: ReceivedEvent };

/** Context of consumers, with the retries in progress in this process, by account. */
type ConsumerContext<Resources> = WorkContext<Resources> & {
  retriesOf(consumer: string): readonly OwnerRuns[];
  /** Opens the one connection that a consumer's lease keeps. */
  openSession(): Database;
};

/**
 * Starts a consumer on the bus. If a batch fails, takes each event alone. An event that fails alone is set aside in a row, where it delays no
 * other event, and is retried. A message that is not an event is dead at once. After a statement timeout, the account's later events are set aside
 * without an attempt for ten minutes, since each may take as long and delay other accounts. An in-order consumer does so within one batch only.
 */
export function startConsumer<Resources>(bus: Bus, consumer: Consumer<Resources>, context: ConsumerContext<Resources>) {
  const { name } = consumer;
  const { queues, clocks, clockWork } = context;
  // Accounts with an event that hit the statement timeout, and its error.
  const timedOut = new LRUCache<string, Error>({ max: maxTimedOut, ttl: timedOutMs });
  const takeBatch = async (batch: ReceivedMessage[]) => {
    // An in-order consumer sets aside without an attempt at most the rest of a batch.
    if (consumer.inOrder) timedOut.clear();
    const { accounts } = membership.paused();
    const aside: Aside[] = [];
    const events: EventMessage[] = [];
    for (const message of batch) {
      const skip = skipReason(message, accounts, timedOut, clocks.real());
      if (skip) aside.push({ message, ...skip });
      else events.push(message as EventMessage);
    }
    const skipped = aside.map(({ message }) => message);
    await releaseOnError(skipped, () => setAside(context, name, aside));
    // Events follow the clock of their account. Those on real time share a transaction.
    const clocked = new Set(events.flatMap(({ event }) => (clocks.leadOfEvent(event) > 0 ? event.account : [])));
    const byClock = Map.groupBy(events, ({ event: { account } }) => (clocked.has(account) ? account : undefined));
    for (const part of byClock.values()) await releaseOnError(part, () => takeAll(part));
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
  // If `work` fails, releases messages to the bus. In-order messages instead stay here until it succeeds or the process stops.
  const releaseOnError = async (messages: readonly ReceivedMessage[], work: () => Promise<void>) => {
    for (let attempt = 1; messages.length > 0; attempt++) {
      try {
        return await work();
      } catch (error) {
        const facts = { err: error, consumer: name, events: messages.length };
        if (attempt === 1) context.log.warn(facts, 'events could not be processed and are retried');
        if (!consumer.inOrder) for (const message of messages) message.release(retryDelayMs);
        if (!consumer.inOrder || isStopping) return;
        await sleep(inOrderRetryMs);
      }
    }
  };
  const batches = { size: consumer.batchSize, gatherMs: consumer.gatherMs ?? 0, ...(consumer.inOrder && inOrderPulls) };
  const running = bus.consume(name, consumer.filter, batches, takeBatch);
  const changed = () => running.setPaused(membership.paused().isWhole || lease?.isHeld === false);
  const session = consumer.inOrder && context.openSession();
  const lease =
    session && new ConsumerLease(name, { sql: session, bus, log: context.log, consuming: running, changed });
  let since: Date | undefined;
  // The bus does not say since when events have been waiting. Undefined while the bus is unavailable.
  const pending = async () => {
    const found = await running.pending().catch(() => undefined);
    if (!found) return undefined;
    since = found.count === 0 ? undefined : (found.oldestAt ?? since ?? clocks.real());
    return { ready: found.count, oldest: since ?? null };
  };
  const membership = queues.open({
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
      membership.close();
      await running.stop();
      await lease?.stop();
      await session?.end({ timeout: 5 });
    },
  };
}

/** Returns how to set a message aside without an attempt: no event, account paused or timed out. Undefined if it can be taken. */
function skipReason(
  { event }: ReceivedMessage,
  pausedAccounts: readonly string[],
  timedOut: LRUCache<string, Error>,
  now: Date,
): Omit<Aside, 'message'> | undefined {
  if (!event) return { reason: noEvent, tries: 1, dueAt: null };
  if (pausedAccounts.includes(event.account)) return { reason: 'paused', tries: 0, dueAt: 'infinity' };
  const error = timedOut.get(event.account);
  return error && { error, ...failedAttempt(error, 1, now, now) };
}

/**
 * Takes each event alone. After several consecutive events that find something unavailable, leaves the rest to the bus. After an event could not
 * get a lock, sets its account's other events aside without an attempt, since each would wait as long and delay other accounts.
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
      message.release(retryDelayMs);
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
  const aside = failures.map((failure) => ({ ...failure, ...failedAttempt(failure.error, 1, now, now) }));
  await setAside(context, consumer.name, aside);
}

/** A message to set aside, the outcome to store, and the error, if any. */
type Aside = HeldAttempt & { message: ReceivedMessage; error?: unknown };

/** Writes messages to rows, which are retried unless dead, and acknowledges them. Throws if the rows cannot be written. */
async function setAside(context: WorkContext<unknown>, queue: string, aside: readonly Aside[]): Promise<void> {
  if (aside.length === 0) return;
  await insertFailedEvents(context.sql, queue, aside, context.clocks.real());
  for (const { message } of aside) message.acknowledge();
  // No work transaction reports these rows, so the watch has to look for their due times.
  context.watch.lookSoon();
  for (const { message, ...ended } of aside)
    logAttempt(context, queue, { ...message, account: message.event?.account }, ended);
  const failures = aside.filter(({ error }) => error !== undefined);
  if (failures.length === 0) return;
  context.log.warn(
    { err: failures[0]!.error, queue, events: failures.slice(0, 10).map(({ message }) => message.event?.id) },
    `${failures.length} events failed; they are set aside and tried again`,
  );
}

/** Takes those events of one clock not taken before. Their effect, inbox rows and the writes of `also` commit in one transaction. */
async function takeOnce<Resources>(
  consumer: Consumer<Resources>,
  context: WorkContext<Resources>,
  batch: readonly { event: ReceivedEvent }[],
  also: (tx: Sql) => Promise<void> = async () => undefined,
) {
  const events = batch.map(({ event }) => event);
  const { clocks } = context;
  // A batch of several accounts goes by real time. One of them may have got a sandbox clock after it was grouped.
  const account = events.every((event) => event.account === events[0]!.account) ? events[0]!.account : undefined;
  const leadMs = account === undefined ? 0 : Math.max(...events.map((event) => clocks.leadOfEvent(event)));
  const work = (received: ReceivedEvent[]) =>
    inWorkTransaction(context, async (call) => {
      const unseen = consumer.deduplicates ? received : await notTaken(call.tx, consumer.name, received);
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
      clocks.by(account, () => work(events.map((event, index) => ({ ...event, trace: continued[index] }))), leadMs),
    ),
  );
  consumer.committed?.(context.resources, events, taken);
  if (account !== undefined) context.clockWork.wake(account);
}

/** Inserts events into a consumer's inbox and returns those that were new. */
async function notTaken(tx: Sql, consumer: string, events: readonly ReceivedEvent[]): Promise<ReceivedEvent[]> {
  const fresh = await tx<{ account_id: string; event_id: string }[]>`
    insert into inbox (account_id, event_id, consumer)
    select account_id, event_id, ${consumer}
    from unnest(${events.map((event) => event.account)}::uuid[], ${events.map((event) => event.id)}::uuid[]) as taken (account_id, event_id)
    on conflict do nothing returning account_id, event_id`;
  // An event id is unique only within its account.
  const keys = new Set(fresh.map((row) => `${row.account_id} ${row.event_id}`));
  return events.filter((event) => keys.delete(`${event.account} ${event.id}`.toLowerCase()));
}

/** Retries events that were set aside, until stopped. Runs one at a time per account, with at most ten failures a second. */
export function startRetries<Resources>(
  bus: Bus,
  consumers: readonly Consumer<Resources>[],
  context: WorkContext<Resources>,
): WorkQueue<FailedEventRow, HeldAttempt | undefined> {
  const byName = new Map(consumers.map((consumer) => [consumer.name, consumer]));
  return new WorkQueue(
    { ...context, bus },
    {
      queue: 'failed-events',
      // Each event appears under the name of its consumer.
      membership: { paused: () => nothingPaused, failed: () => undefined, close: () => undefined },
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
          if (row.attempts > maxEventAttempts) throw new Error('the process ended while it processed this event');
          const event = readEvent(row);
          if (!event) throw new Error(noEvent);
          const consumer = byName.get(row.queue);
          if (!consumer) throw new Error(`no consumer is named ${row.queue}`);
          await takeOnce(consumer, context, [{ event }], (tx) => deleteFailedEvent(tx, row));
          return undefined;
        } catch (error) {
          await sleep(pauseMs, undefined, { signal }).catch(() => undefined);
          return failedAttempt(error, row.attempts, row.first_at, context.clocks.real());
        }
      },
      settle: async (ended) => {
        const failures = ended.flatMap(({ row, result }) => (result ? [{ row, ...result }] : []));
        if (failures.length === 0) return;
        await recordFailedAttempts(context.sql, failures, context.clocks.real());
        for (const { row, ...end } of failures)
          logAttempt(context, row.queue, { ...row, account: row.account_id }, end);
      },
    },
  );
}

/** Counts and logs a failed attempt, and a dead event. Skips an event that a pause holds. */
function logAttempt(
  { log, queues }: WorkContext<unknown>,
  queue: string,
  { subject, account }: { subject: string; account: string | undefined },
  { reason, dueAt }: HeldAttempt,
): void {
  if (dueAt === 'infinity') return;
  failed.add(1, { queue });
  queues.noteError(queue, reason);
  if (dueAt) return;
  deadEvents.add(1, { queue });
  log.error({ reason, queue, account, subject }, 'an event is dead');
}
