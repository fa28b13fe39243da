import { adminOperations } from '@customer-platform/contracts/accounts';
import { type DeadRecord, type ServiceName, serviceNames } from '@customer-platform/contracts/core';
import { fewBytes, readPage } from '@customer-platform/service-kit';
import { implement } from '../admin-operation.ts';
import { serviceNamed } from '../operators/services.ts';
import { findDeadEvent, toDeadEvent } from './find-dead-event.ts';

type Row = DeadRecord & { service: ServiceName };

/** Lists the dead events of all services that reply, newest first. */
export const listDeadEvents = implement(adminOperations.listDeadEvents, {
  async handle({ query, resources: { services } }) {
    const { queue, account } = query;
    const among = query.service ? [serviceNamed(query.service)] : serviceNames;
    const filter = { ...(queue && { queue }), ...(account && { account }) };
    let gone: ServiceName[] = [];
    const page = await readPage(query, {
      position: async (cursor) => (await findDeadEvent(services, cursor))?.dead,
      async rows(after, limit): Promise<Row[]> {
        const before = after && { deadAt: after.deadAt, id: after.id };
        const { replies, gone: silent } = await services.askEach(
          'listDeadEvents',
          { ...filter, ...(before && { before }), limit },
          among,
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
