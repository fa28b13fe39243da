import { setTimeout as sleep } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import type { Bus } from '../bus/bus.ts';
import type { ConsumeLoop, ReceivedEvent, ReceivedMessage } from '../bus/consume-loop.ts';
import type { Database } from '../database/database.ts';
import { isDatabaseUnavailable, isStatementTimeout, isUnavailable } from '../database/database-errors.ts';
import type { WorkContext } from '../jobs/jobs.ts';
import { AccountsLocked } from '../outbox/failed-try.ts';
import type { OwnerRuns } from '../queues/queues.ts';
import type { Logger } from '../telemetry/logging.ts';
import type { Consumer } from './consumer.ts';
import { ConsumerLease, inOrderPulls } from './consumer-lease.ts';
import { buryRubbish, type FailedMessage, setAside, setPausedAside, takeOnce } from './take-events.ts';

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
type TimedOutAccounts = Pick<Map<string, Error>, 'get'> & { set(accountId: string, error: Error): unknown };

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
  const remembered = new LRUCache<string, Error>({ max: maxTimedOut, ttl: timedOutMs });
  // Where the order counts, no more than the rest of a batch is set aside untried.
  const timedOut = () => (consumer.inOrder ? new Map<string, Error>() : remembered);
  const takeBatch = async (batch: ReceivedMessage[]) => {
    const slow = timedOut();
    const { rubbish, paused, untried, events } = sortBatch(batch, seat.paused().accounts, slow);
    const failures = untried.map((message) => ({ message, error: slow.get(message.event.account) }));
    await orGiveBack(paused, () => setPausedAside(context, name, paused));
    await orGiveBack(rubbish, () => buryRubbish(context, name, rubbish));
    await orGiveBack(untried, () => setAside(context, name, failures));
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
      await takeEach(consumer, context, batch, timedOut());
    }
  };
  let isStopping = false;
  const orGiveBack = giveBackWhatFails(consumer, context.log, () => isStopping);
  const pulls = consumer.inOrder ? inOrderPulls : undefined;
  const batches = { size: consumer.batchSize, gatherMs: consumer.gatherMs ?? 0, ...pulls };
  const running = bus.consume(name, consumer.filter, batches, takeBatch);
  const changed = () => running.setPaused(seat.paused().isWhole || lease?.isHeld === false);
  const session = consumer.inOrder && context.openSession();
  const lease =
    session && new ConsumerLease(name, { sql: session, bus, log: context.log, consuming: running, changed });
  const seat = queues.open({
    queue: name,
    hasFailedEvents: true,
    running: () => context.retriesOf(name),
    pending: pendingLag(running, clocks.real),
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

/** Sorts a batch by what becomes of its messages: of accounts that timed out they are set aside untried. */
function sortBatch(
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
async function takeEach<Resources>(
  consumer: Consumer<Resources>,
  context: WorkContext<Resources>,
  batch: EventMessage[],
  timedOut: TimedOutAccounts,
): Promise<void> {
  const failures: FailedMessage[] = [];
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
  if (failures.length > 0) await setAside(context, consumer.name, failures);
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
    for (let attempt = 1; messages.length > 0; attempt++) {
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

/**
 * Returns what measures the events that a consumer has not finished, and since when some have waited without a break: the bus tells no more.
 * Undefined while the bus is unavailable: nobody knows then.
 */
function pendingLag(consuming: Pick<ConsumeLoop, 'pending'>, clock: () => Date) {
  let since: Date | undefined;
  return async () => {
    const pending = await consuming.pending().catch(() => undefined);
    if (!pending) return undefined;
    since = pending.count === 0 ? undefined : (pending.oldestAt ?? since ?? clock());
    return { ready: pending.count, oldest: since ?? null };
  };
}
