import { adminOperations } from '@customer-platform/contracts/accounts';
import type { DeadRecord } from '@customer-platform/contracts/core';
import { fewBytes, readPage } from '@customer-platform/service-kit';
import { implement } from '../admin-operation.ts';
import type { Place } from '../services.ts';
import { findDeadEvent, toDeadEvent } from './find-dead-event.ts';

type Row = DeadRecord & Place;

/** Lists the dead events of all services that reply, newest first. */
export const listDeadEvents = implement(adminOperations.listDeadEvents, {
  async handle({ query, resources: { cells, services } }) {
    const { queue, account } = query;
    const places = services.places(query.service && [query.service], query.cell);
    const filter = { ...(queue && { queue }), ...(account && { account }) };
    let gone: Place[] = [];
    const page = await readPage(query, {
      position: async (cursor) => (await findDeadEvent(services, cursor))?.dead,
      async rows(after, limit): Promise<Row[]> {
        const before = after && { deadAt: after.deadAt, id: after.id };
        const { replies, gone: silent } = await services.askEach(
          'listDeadEvents',
          { ...filter, ...(before && { before }), limit },
          places,
        );
        gone = silent;
        return replies
          .flatMap(({ place, reply }) => reply.data.map((dead) => ({ ...dead, ...place })))
          .sort((a, b) => b.deadAt.localeCompare(a.deadAt) || b.id.localeCompare(a.id))
          .slice(0, limit);
      },
      bytes: fewBytes,
      item: ({ service, cell, ...dead }) => cells.shown({ ...toDeadEvent(service, dead), cell }),
      cursor: 'id',
    });
    return { ...page, ...services.shownGone(gone) };
  },
});
