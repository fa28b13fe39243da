import { setTimeout as sleep } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import type { Bus } from '../bus/bus.ts';
import { noEvent, type ReceivedEvent, type ReceivedMessage } from '../bus/consume-loop.ts';
import type { Database } from '../database/database.ts';
import { isDatabaseUnavailable, isStatementTimeout, isUnavailable } from '../database/database-errors.ts';
import type { WorkContext } from '../jobs/jobs.ts';
import { AccountsLocked, failedTry } from '../outbox/failed-try.ts';
import type { OwnerRuns } from '../queues/queues.ts';
import type { Consumer } from './consumer.ts';
import { ConsumerLease, inOrderPulls } from './consumer-lease.ts';
import { type Aside, setAside, takeOnce } from './take-events.ts';

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

type EventMessage = ReceivedMessage & { event: ReceivedEvent };

/** Accounts with an event that took as long as a statement may, and its error. */
type TimedOutAccounts = Pick<LRUCache<string, Error>, 'get' | 'set'>;

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
  const pulls = consumer.inOrder ? inOrderPulls : undefined;
  const batches = { size: consumer.batchSize, gatherMs: consumer.gatherMs ?? 0, ...pulls };
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
  timedOut: TimedOutAccounts,
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
  timedOut: TimedOutAccounts,
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
