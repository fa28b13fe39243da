import { operatorRequests, type QueuePart, type ServiceName } from '@customer-platform/contracts/core';
import type { ClockWork } from '../clocks/clock-work.ts';
import type { Sql } from '../database/database.ts';
import { type BoundRequest, handleRequest, type RequestCall } from '../jobs/requests.ts';
import { requestRepublication } from '../outbox/outbox.sql.ts';
import { deletePause, insertPause, maxMoved, resumeFailedEvents } from '../queues/queues.sql.ts';
import type { Queues } from '../queues/queues.ts';
import type { Logger } from '../telemetry/logging.ts';
import {
  type DeadPart,
  deleteDeadEvent,
  maxRequeued,
  requeueDeadEvents,
  selectDeadBytes,
  selectDeadEvent,
  selectDeadEvents,
} from './dead-events.sql.ts';

/** Bytes of a dead event in one reply, which is a message of the bus. */
const partBytes = 524_288;
/** Time after which no more rounds of requeuing begin: the gateway waits 10 s for the reply. */
const requeueMs = 5_000;

type Handled = BoundRequest<undefined>;
type Context = { service: ServiceName; queues: Queues; clockWork: ClockWork; log: Logger };

/** Handles what operators ask of a service: the same in each. */
export function handleOperatorRequests(context: Context): Handled[] {
  return [...handleQueues(context), ...handleDeadEvents(context), handleClock(context)];
}

function handleQueues({ service, queues, log }: Context): Handled[] {
  const requests = operatorRequests(service);
  return [
    handleRequest(requests.measureQueues, async () => ({ queues: await queues.measure() })),
    handleRequest(requests.measureOwners, async (_, { queue, by }) => ({ owners: await queues.owners(queue, by) })),
    handleRequest(requests.pauseQueue, async (call, { reason, actor, ...part }) => {
      const refusal = await refusalOf(queues, call, part);
      if (refusal) return refusal;
      const isNew = await call.change(({ tx, now }) => insertPause(tx, part, { reason, actor, at: now }));
      if (isNew) queues.pauses.announce();
      return { matched: Number(isNew) };
    }),
    handleRequest(requests.resumeQueue, async (call, part) => {
      const refusal = await refusalOf(queues, call, part);
      if (refusal) return refusal;
      const before = await call.change(({ tx }) => deletePause(tx, part));
      if (!before) return { matched: 0 };
      const round = async (tx: Sql, now: Date) => (await resumeFailedEvents(tx, now)) === maxMoved;
      await inRounds(call, { queues, log }, round);
      return { matched: 1, before };
    }),
    handleRequest(requests.retryQueue, async (call, part) => {
      const refusal = await refusalOf(queues, call, part);
      if (refusal) return refusal;
      const matched = await queues.countFailed(part);
      await inRounds(call, { queues, log }, (tx, now) => queues.retrySome(tx, part, now));
      return { matched };
    }),
  ];
}

function handleClock({ service, clockWork }: Context): Handled {
  return handleRequest(operatorRequests(service).lookAtClock, ({ accountId }, { position }) =>
    clockWork.look(accountId, position),
  );
}

function handleDeadEvents({ service, queues, log }: Context): Handled[] {
  const requests = operatorRequests(service);
  return [
    handleRequest(requests.listDeadEvents, async ({ sql }, { before, limit, ...filter }) => ({
      data: await selectDeadEvents(sql, filter, before, limit),
    })),
    handleRequest(requests.findDeadEvent, async ({ sql }, { id }) => ({
      dead: (await selectDeadEvent(sql, id)) ?? null,
    })),
    handleRequest(requests.readDeadBytes, async ({ sql }, { id, offset }) => {
      const part = await selectDeadBytes(sql, id, { offset, length: partBytes });
      return { bytes: part?.toString('base64') ?? '' };
    }),
    handleRequest(requests.requeueDeadEvents, async (call, part) => {
      if (part.queue !== undefined && !queues.get(part.queue)) return { matched: 0, queues: queues.names };
      const matched = await requeueAll(call, part, log);
      if (matched > 0) queues.pauses.announce();
      return { matched };
    }),
    handleRequest(requests.dropDeadEvent, async ({ change }, { id }) => {
      return { matched: await change(({ tx }) => deleteDeadEvent(tx, id)) };
    }),
    handleRequest(requests.republishEvents, async ({ change }, { since }) => {
      return { matched: await change(({ tx }) => requestRepublication(tx, new Date(since))) };
    }),
  ];
}

/** Requeues dead events in rounds, each a transaction, as far as there is time. Returns how many. */
async function requeueAll({ change }: RequestCall<undefined>, part: DeadPart, log: Logger): Promise<number> {
  let matched = 0;
  for (const endMs = performance.now() + requeueMs; performance.now() < endMs; ) {
    const round = await change(({ tx, now }) => requeueDeadEvents(tx, part, now)).catch((error: unknown) => {
      if (matched === 0) throw error;
      log.error({ err: error }, 'dead events were requeued in part');
    });
    matched += round ?? 0;
    if (round !== maxRequeued) break;
  }
  return matched;
}

/** Returns why a part of a queue cannot be changed, undefined where it can. */
async function refusalOf(queues: Queues, { sql }: RequestCall<undefined>, part: QueuePart) {
  const queue = queues.get(part.queue);
  if (!queue) return { matched: 0, queues: queues.names };
  if (part.endpoint === undefined) return undefined;
  if (!queue.hasEndpoint) return { matched: 0, refusal: 'no_endpoints' as const };
  return (await queue.hasEndpoint(sql, part)) ? undefined : { matched: 0, refusal: 'unknown_endpoint' as const };
}

/**
 * Repeats a round, each in a transaction of its own, until it returns false: the first before the reply, the others after it, since there
 * may be millions of rows. If the process ends meanwhile, the operator finds the rest where it was.
 */
async function inRounds(
  { change }: RequestCall<undefined>,
  { queues, log }: Pick<Context, 'queues' | 'log'>,
  round: (tx: Sql, now: Date) => Promise<boolean>,
): Promise<void> {
  const once = async () => {
    const hasMore = await change(({ tx, now }) => round(tx, now));
    queues.pauses.announce();
    return hasMore;
  };
  if (!(await once())) return;
  const rest = async () => {
    while (await once());
  };
  rest().catch((error: unknown) => log.error({ err: error }, 'what an operator asked for was done in part'));
}
