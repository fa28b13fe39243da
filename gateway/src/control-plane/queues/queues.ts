import { type AuditEntry, adminOperations } from '@customer-platform/contracts/accounts';
import { ApiError, type QueuePart, type ServiceName } from '@customer-platform/contracts/core';
import { needsAttention } from '@customer-platform/contracts/operators';
import type { PrefetchCall } from '@customer-platform/service-kit';
import { type Done, recordAround } from '../../audit/record-change.ts';
import { implement } from '../admin-operation.ts';
import { noSuchQueue, requireAccount, type Services, serviceNamed } from '../services.ts';
import { readQueues, toOwners, toQueue } from './queue-shape.ts';

/** Lists the queues of all services that reply: all, or those that need attention. */
export const listQueues = implement(adminOperations.listQueues, {
  async handle({ query, resources: { services, queueHistory }, now }) {
    const { data: all, gone } = await readQueues(services, now);
    const { attention } = query;
    const chosen = attention === undefined ? all : all.filter((queue) => needsAttention(queue) === attention);
    const data = query.history ? chosen.map((queue) => ({ ...queue, history: queueHistory.of(queue) })) : chosen;
    return { data, gone };
  },
});

/** Returns a queue with its deepest owners. */
export const getQueue = implement(adminOperations.getQueue, {
  find: async ({ params }) => serviceNamed(params.service),
  async handle({ found: service, params: { queue }, query: { by, history }, resources, now }) {
    const { services, queueHistory } = resources;
    const [{ queues }, { owners }, processes] = await Promise.all([
      services.ask(service, 'measureQueues', {}),
      services.ask(service, 'measureOwners', { queue, by }),
      services.processes({ service, queue }),
    ]);
    const measured = queues.find((one) => one.queue === queue);
    if (!measured || !owners)
      throw noSuchQueue(
        service,
        queue,
        queues.map((one) => one.queue),
      );
    return {
      ...toQueue(service, measured, processes, now),
      ...(history && { history: queueHistory.of({ service, queue }) }),
      top: toOwners(measured, owners, processes, by),
    };
  },
});

/** Pauses a queue or a part of it. */
export const pauseQueue = implement(adminOperations.pauseQueue, {
  find: async ({ params }) => serviceNamed(params.service),
  async handle({ found, params: { queue }, body, prefetch, resources: { services } }) {
    prefetch((call) =>
      changeQueue(call, { service: found, queue, body }, 'queues.pause', async (part) => {
        const pause = { ...part, reason: body.reason, actor: call.account.name };
        const reply = await services.ask(found, 'pauseQueue', pause, 'change');
        if (reply.matched > 0) await services.spreadPauses(found);
        return { ...reply, after: body };
      }),
    );
    return undefined;
  },
});

/** Resumes a queue or a part of it. */
export const resumeQueue = implement(adminOperations.resumeQueue, {
  find: async ({ params }) => serviceNamed(params.service),
  async handle({ found, params: { queue }, body, prefetch, resources: { services } }) {
    prefetch((call) =>
      changeQueue(call, { service: found, queue, body }, 'queues.resume', (part) =>
        services.ask(found, 'resumeQueue', part, 'change'),
      ),
    );
    return undefined;
  },
});

/** Makes entries that wait after a failure due now. */
export const retryQueue = implement(adminOperations.retryQueue, {
  find: async ({ params }) => serviceNamed(params.service),
  async handle({ found, params: { queue }, body, prefetch, resources: { services } }) {
    const matched = prefetch((call) =>
      changeQueue(call, { service: found, queue, body }, 'queues.retry', async (part) => {
        const reply = await services.ask(found, 'retryQueue', part, 'change');
        const { reason: _, ...of } = body;
        return { ...reply, after: { ...of, matched: reply.matched } };
      }),
    );
    return { matched };
  },
});

/** A part of a queue, as named by a path and a body. */
interface Named {
  service: ServiceName;
  queue: string;
  body: { account?: string | undefined; endpoint?: string | undefined; reason?: string | undefined };
}

/** A service's reply to a change. */
type Reply = Awaited<ReturnType<typeof Services.prototype.ask<'pauseQueue'>>>;

/** Changes a part of a queue in its service and records the change. Throws the service's refusal. */
async function changeQueue(
  call: PrefetchCall,
  { service, queue, body }: Named,
  action: AuditEntry['action'],
  change: (part: QueuePart) => Promise<Reply & Pick<Done<unknown>, 'after'>>,
): Promise<number> {
  const { account, endpoint, reason } = body;
  await call.onConnection((sql) => requireAccount(sql, account));
  const of = { ...(account && { account }), ...(endpoint && { endpoint }) };
  const target = `${service}/${queue}`;
  return await recordAround(call, { action, target, account, reason }, async () => {
    const { matched, queues, refusal, before, after } = await change({ queue, ...of });
    if (queues) throw noSuchQueue(service, queue, queues);
    if (refusal === 'unknown_endpoint') throw new ApiError('not_found', `There is no endpoint ${endpoint}`);
    if (refusal === 'no_endpoints') {
      const message = `endpoint must be left out: ${target} has no endpoints`;
      throw new ApiError('invalid_request', message, { field: 'endpoint' });
    }
    return {
      isChanged: matched > 0,
      result: matched,
      ...(before && { before: { ...of, ...before } }),
      ...(after && { after }),
    };
  });
}
