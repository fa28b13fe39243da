import { setTimeout as sleep } from 'node:timers/promises';
import type { Bus } from '../bus/bus.ts';
import { noEvent, type ReceivedEvent, type ReceivedMessage, readEvent } from '../bus/consume-loop.ts';
import type { Sql } from '../database/database.ts';
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
import { deadEvents, eventBackoff, failedTry, maxEventTries } from '../outbox/failed-try.ts';
import { nothingPaused } from '../queues/pauses.ts';
import { withWorkContext } from '../telemetry/logging.ts';
import { meter } from '../telemetry/meter.ts';
import { inSpans } from '../telemetry/telemetry.ts';
import type { Consumer } from './consumer.ts';

/** Time that a try which failed holds its account's slot: thousands of them cost the others nothing. */
const pauseMs = 100;

const failed = meter.createCounter('events.failed_tries', { description: 'Tries of events that failed, by queue.' });

/** A message that is not taken for now, how that is written, and the error, if there was one. */
export type Aside = HeldTry & { message: ReceivedMessage; error?: unknown };

/** Writes messages to rows, which are tried again unless they are dead, and has the bus send them no more. Throws where they cannot be written. */
export async function setAside(context: WorkContext<unknown>, queue: string, aside: readonly Aside[]): Promise<void> {
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

/** Takes events again that were set aside, until stopped: one of an account at a time, those that fail ten a second at most. */
export function startRetries<Resources>(
  bus: Bus,
  consumers: readonly Consumer<Resources>[],
  context: WorkContext<Resources>,
): WorkQueue<FailedEventRow, HeldTry | undefined> {
  const byName = new Map(consumers.map((consumer) => [consumer.name, consumer]));
  const takeAgain = async (row: FailedEventRow) => {
    if (row.attempts > maxEventTries) throw new Error('the process ended while it took this event');
    const event = readEvent(row);
    if (!event) throw new Error(noEvent);
    const consumer = byName.get(row.queue);
    if (!consumer) throw new Error(`no consumer is called ${row.queue} any more`);
    await takeOnce(consumer, context, [{ event }], (tx) => deleteFailedEvent(tx, row));
  };
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
          await takeAgain(row);
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
