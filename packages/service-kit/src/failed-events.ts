import { type ReceivedEvent, type ReceivedMessage, readEvent } from './consume-loop.ts';
import { claimFailedEvent, type FailedEventRow, insertFailedEvents, noteFailedTry } from './failed-events.sql.ts';
import { failedTry, maxEventTries } from './failed-try.ts';
import type { WorkContext } from './jobs.ts';
import { meter } from './telemetry.ts';
import { WakeLoop } from './wake-loop.ts';

/** Poll interval: events here have waited already. */
const pollMs = 1_000;
/** After so many tries that fail the loop rests until it looks again. */
const maxFailuresInARound = 10;
/** Lease: time until an event is tried again whose process died. */
const leaseMs = 30_000;

const dead = meter.createCounter('events.dead', {
  description: 'Messages that no consumer could take or the bus would not carry, by queue.',
});
const failed = meter.createCounter('events.failed_tries', { description: 'Tries of events that failed, by queue.' });

/** Takes one event again; throws as `take` of its consumer does. */
type TakeAgain = (queue: string, event: ReceivedEvent, row: FailedEventRow) => Promise<void>;

/** Sets messages that are no events aside as dead; the bus never sends them again. Throws where they cannot be written. */
export async function buryRubbish(
  context: WorkContext<unknown>,
  queue: string,
  messages: readonly ReceivedMessage[],
): Promise<void> {
  const reason = 'The message is no event: it is not the JSON of an envelope';
  const rubbish = messages.map((message) => ({ message, reason, tries: 1, dueAt: null }));
  await insertFailedEvents(context.sql, queue, rubbish, context.clock());
  dead.add(messages.length, { queue });
  context.log.error({ queue, subjects: messages.slice(0, 5).map(({ subject }) => subject) }, reason);
  for (const message of messages) message.terminate();
}

/** A message that a consumer could not take, and why. */
export interface FailedMessage {
  message: ReceivedMessage;
  error: unknown;
}

/** Sets events aside that could not be taken, to be tried again out of the others' way. Throws where they cannot be written. */
export async function setAside(
  context: WorkContext<unknown>,
  queue: string,
  failures: readonly FailedMessage[],
): Promise<void> {
  const now = context.clock();
  const events = failures.map(({ message, error }) => ({ message, ...failedTry(error, 1, now, now) }));
  await insertFailedEvents(context.sql, queue, events, now);
  failed.add(failures.length, { queue });
  context.log.warn(
    { err: failures[0]!.error, queue, events: failures.slice(0, 10).map(({ message }) => message.event?.id) },
    `${failures.length} events failed; they are set aside and tried again`,
  );
  for (const { message } of failures) message.acknowledge();
}

/**
 * Takes failed events again, one after the other, until stopped: those that can be taken as fast as it goes, those that fail again ten a
 * second at most, so that thousands of them cost the others nothing.
 */
export function retryFailedEvents(context: WorkContext<unknown>, takeAgain: TakeAgain): WakeLoop {
  const { sql, log, clock } = context;
  let failures = 0;
  const retryOne = async (): Promise<boolean> => {
    const now = clock();
    const row = await claimFailedEvent(sql, now, new Date(now.getTime() + leaseMs));
    if (!row) return false;
    try {
      if (row.tries > maxEventTries) throw new Error('the process ended while it took this event');
      const event = readEvent(row);
      if (!event) throw new Error('the bytes are no event');
      await takeAgain(row.queue, event, row);
      return true;
    } catch (error) {
      await noteFailure(context, row, error);
      return ++failures % maxFailuresInARound !== 0;
    }
  };
  return new WakeLoop('failed-events', { everyMs: pollMs, slowestRetryMs: pollMs, log }, retryOne);
}

async function noteFailure({ sql, log, clock }: WorkContext<unknown>, row: FailedEventRow, error: unknown) {
  const now = clock();
  const next = failedTry(error, row.tries, row.first_at, now);
  await noteFailedTry(sql, row, next, now);
  const { queue } = row;
  failed.add(1, { queue });
  if (next.dueAt) return;
  dead.add(1, { queue });
  log.error({ err: error, queue, account: row.account_id, subject: row.subject }, 'an event is dead: every try failed');
}
