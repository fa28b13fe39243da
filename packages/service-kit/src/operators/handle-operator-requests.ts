import { operatorRequests, type QueuePart, type ServiceName } from '@customer-platform/contracts/core';
import type { ClockWork } from '../clocks/clock-work.ts';
import type { Sql } from '../database/database.ts';
import { type BoundRequest, handleRequest, type RequestCall } from '../jobs/requests.ts';
import { requestRepublication } from '../outbox/outbox.sql.ts';
import { deletePause, insertPause, maxMoved, resumeFailedEvents } from '../queues/queues.sql.ts';
import type { Queues } from '../queues/queues.ts';
import type { Logger } from '../telemetry/logging.ts';
import { withTimeout } from '../values/with-timeout.ts';
import {
  deleteDeadEvent,
  maxRequeued,
  requeueDeadEvents,
  selectDeadBytes,
  selectDeadEvent,
  selectDeadEvents,
} from './dead-events.sql.ts';

/** Time after which the remaining rounds run behind the reply. The gateway waits 10 s for it, and counting comes first. */
const replyMs = 4_000;

/** Resources of a process that operators use. */
interface Operated {
  service: ServiceName;
  queues: Queues;
  clockWork: ClockWork;
  log: Logger;
}

/** Returns the handlers of operators' requests, the same in each service. */
export function handleOperatorRequests({ service, queues, clockWork, log }: Operated): BoundRequest<undefined>[] {
  const requests = operatorRequests(service);
  /**
   * Repeats a round, each in its own transaction, until it returns false. The first runs before the reply, others as far as time allows, since
   * there may be millions of rows. If the process ends meanwhile, the remaining rows stay as they were.
   */
  const inRounds = async (
    { change }: RequestCall<undefined>,
    round: (tx: Sql, now: Date) => Promise<boolean>,
  ): Promise<void> => {
    const once = async () => {
      const hasMore = await change(({ tx, now }) => round(tx, now));
      queues.pauses.announce();
      return hasMore;
    };
    const endMs = performance.now() + replyMs;
    if (!(await once())) return;
    const rest = async () => {
      while (await once());
    };
    const done = rest().catch((error: unknown) =>
      log.error({ err: error }, 'an operator request was only partly completed'),
    );
    await withTimeout(Math.max(0, endMs - performance.now()), done).catch(() => undefined);
  };
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
      await inRounds(call, async (tx, now) => (await resumeFailedEvents(tx, now)) === maxMoved);
      return { matched: 1, before };
    }),
    handleRequest(requests.retryQueue, async (call, part) => {
      const refusal = await refusalOf(queues, call, part);
      if (refusal) return refusal;
      const matched = await queues.countFailed(part);
      await inRounds(call, (tx, now) => queues.retrySome(tx, part, now));
      return { matched };
    }),
    handleRequest(requests.listDeadEvents, async ({ sql }, page) => ({ data: await selectDeadEvents(sql, page) })),
    handleRequest(requests.findDeadEvent, async ({ sql }, { id }) => ({ dead: await selectDeadEvent(sql, id) })),
    handleRequest(requests.readDeadBytes, async ({ sql }, { id, offset }) => ({
      bytes: await selectDeadBytes(sql, id, offset),
    })),
    handleRequest(requests.requeueDeadEvents, async (call, part) => {
      if (part.queue !== undefined && !queues.get(part.queue)) return { matched: 0, queues: queues.names };
      let matched = 0;
      await inRounds(call, async (tx, now) => {
        const requeued = await requeueDeadEvents(tx, part, now);
        matched += requeued;
        return requeued === maxRequeued;
      });
      return { matched };
    }),
    handleRequest(requests.dropDeadEvent, async ({ change }, { id }) => {
      return { matched: await change(({ tx }) => deleteDeadEvent(tx, id)) };
    }),
    handleRequest(requests.republishEvents, async ({ change }, { since }) => {
      return { matched: await change(({ tx }) => requestRepublication(tx, new Date(since))) };
    }),
    handleRequest(requests.lookAtClock, ({ accountId }, { position }) => clockWork.look(accountId, position)),
  ];
}

/** Returns why a part of a queue cannot be changed; undefined if it can. */
async function refusalOf(queues: Queues, { sql }: RequestCall<undefined>, part: QueuePart) {
  const queue = queues.get(part.queue);
  if (!queue) return { matched: 0, queues: queues.names };
  if (part.endpoint === undefined) return undefined;
  if (!queue.hasEndpoint) return { matched: 0, refusal: 'no_endpoints' as const };
  return (await queue.hasEndpoint(sql, part)) ? undefined : { matched: 0, refusal: 'unknown_endpoint' as const };
}
