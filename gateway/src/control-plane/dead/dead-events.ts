import { isUtf8 } from 'node:buffer';
import { adminOperations, type DeadEvent } from '@customer-platform/contracts/accounts';
import { ApiError, type DeadRecord, type ServiceName, uuid } from '@customer-platform/contracts/core';
import { fewBytes, type PrefetchCall, readPage } from '@customer-platform/service-kit';
import { type ChangedElsewhere, recordAround } from '../../audit/record-change.ts';
import { implement } from '../admin-operation.ts';
import { toTimestamp } from '../queues/queue-shape.ts';
import { gone, noSuchQueue, requireAccount, type Services } from '../services.ts';

type Row = DeadRecord & { service: ServiceName };

/** Lists the dead events of all services that reply, newest first. */
export const listDeadEvents = implement(adminOperations.listDeadEvents, {
  async handle({ query, resources: { services } }) {
    const { queue, account } = query;
    const filter = { ...(queue && { queue }), ...(account && { account }) };
    let gone: ServiceName[] = [];
    const page = await readPage(query, {
      position: async (cursor) => (await findDeadEvent(services, cursor))?.dead,
      async rows(after, limit): Promise<Row[]> {
        const before = after && { deadAt: after.deadAt, id: after.id };
        const { replies, gone: silent } = await services.askEach(
          'listDeadEvents',
          { ...filter, ...(before && { before }), limit },
          query.service && [query.service],
        );
        gone = silent;
        return replies
          .flatMap(({ service, reply }) => reply.data.map((dead) => ({ ...dead, service })))
          .sort((a, b) => b.deadAt.localeCompare(a.deadAt) || b.id.localeCompare(a.id))
          .slice(0, limit);
      },
      bytes: fewBytes,
      item: ({ service, ...dead }) => toDeadEvent(service, dead),
      cursor: 'id',
    });
    return { ...page, gone };
  },
});

/** Retrieves a dead event with its bytes. */
export const getDeadEvent = implement(adminOperations.getDeadEvent, {
  find: ({ params, resources: { services } }) => findDeadEvent(services, params.dead_id),
  async handle({ found: { service, dead }, resources: { services } }) {
    const { headers, ...record } = dead;
    const bytes = await readBytes(services, service, record);
    const text = isUtf8(bytes) ? bytes.toString('utf8') : null;
    return { ...toDeadEvent(service, record), bytes: bytes.toString('base64'), text, headers };
  },
});

/** Requeues a dead event, whose attempts start again from zero. */
export const requeueDeadEvent = implement(adminOperations.requeueDeadEvent, {
  find: async ({ params, prefetch, resources: { services } }) =>
    prefetch(() => findDeadEvent(services, params.dead_id)),
  async handle({ found, params: { dead_id: id }, body: { reason }, prefetch, resources: { services } }) {
    prefetch((call) =>
      changeDeadEvent(call, found, { action: 'dead.requeue', reason }, () =>
        services.ask(found.service, 'requeueDeadEvents', { id }, 'change'),
      ),
    );
    return undefined;
  },
});

/** Requeues the dead events of a queue, or of one account in the queue. */
export const requeueDeadEvents = implement(adminOperations.requeueDeadEvents, {
  async handle({ body: { service, queue, account, reason }, prefetch, resources: { services } }) {
    const matched = prefetch(async (call) => {
      await call.onConnection((sql) => requireAccount(sql, account));
      const change = { action: 'dead.requeue' as const, target: `${service}/${queue}`, account, reason };
      return await recordAround(call, change, async () => {
        const part = { queue, ...(account && { account }) };
        const reply = await services.ask(service, 'requeueDeadEvents', part, 'change');
        if (reply.queues) throw noSuchQueue(service, queue, reply.queues);
        return { isChanged: reply.matched > 0, result: reply.matched, after: { matched: reply.matched } };
      });
    });
    return { matched };
  },
});

/** Deletes a dead event permanently. */
export const dropDeadEvent = implement(adminOperations.dropDeadEvent, {
  find: async ({ params, prefetch, resources: { services } }) =>
    prefetch(() => findDeadEvent(services, params.dead_id)),
  async handle({ found, params: { dead_id: id }, body: { reason }, prefetch, resources: { services } }) {
    prefetch((call) =>
      changeDeadEvent(call, found, { action: 'dead.drop', reason }, async () => {
        const { matched } = await services.ask(found.service, 'dropDeadEvent', { id }, 'change');
        return { matched, after: { reason } };
      }),
    );
    return undefined;
  },
});

/** Reads the bytes of a dead event in parts. An event may be larger than one message of the bus. */
async function readBytes(services: Services, service: ServiceName, { id, sizeBytes }: DeadRecord): Promise<Buffer> {
  const parts: Buffer[] = [];
  for (let offset = 0; offset < sizeBytes; ) {
    const part = Buffer.from((await services.ask(service, 'readDeadBytes', { id, offset })).bytes, 'base64');
    if (part.length === 0) throw noSuchDeadEvent();
    parts.push(part);
    offset += part.length;
  }
  return Buffer.concat(parts);
}

/** Changes one dead event in its service and records the change. Throws 404 if another operator was first. */
async function changeDeadEvent(
  call: PrefetchCall,
  { service, dead }: { service: ServiceName; dead: DeadRecord },
  why: Pick<ChangedElsewhere, 'action' | 'reason'>,
  change: () => Promise<{ matched: number; after?: Record<string, unknown> }>,
): Promise<void> {
  const { id, queue, account, kind, subject } = dead;
  const target = `${service}/${queue}`;
  await recordAround(call, { ...why, target, account: account ?? undefined }, async () => {
    const { matched, after } = await change();
    if (matched === 0) throw noSuchDeadEvent();
    return {
      isChanged: true,
      result: undefined,
      before: { id, subject, ...(kind && { kind }) },
      ...(after && { after }),
    };
  });
}

/** Finds a dead event in the services; undefined if none has it. Throws 503 if a service that may have it does not reply. */
async function findDeadEvent(services: Services, id: string) {
  if (!uuid.safeParse(id).success) return undefined;
  const { replies, gone: silent } = await services.askEach('findDeadEvent', { id });
  for (const { service, reply } of replies) if (reply.dead) return { service, dead: reply.dead };
  if (silent.length > 0) throw gone(silent[0]!);
  return undefined;
}

/** Returns a dead event as the API shows it. */
function toDeadEvent(service: ServiceName, dead: DeadRecord): DeadEvent {
  const { id, queue, subject, account, kind, reason, tries, sizeBytes, firstAt, deadAt } = dead;
  return {
    id,
    service,
    queue,
    subject,
    account,
    kind,
    reason,
    tries,
    size_bytes: sizeBytes,
    first_at: toTimestamp(firstAt),
    dead_at: toTimestamp(deadAt),
  };
}

/** The error for a dead event that was requeued or dropped meanwhile. */
const noSuchDeadEvent = () => new ApiError('not_found', 'There is no such dead event');
