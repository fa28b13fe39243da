import { adminOperations } from '@customer-platform/contracts/accounts';
import { needsAttention } from '@customer-platform/contracts/operators';
import { implement } from '../admin-operation.ts';
import { readQueues } from './read-queues.ts';

/** Lists the queues of every service that replies: all, or those that need attention. */
export const listQueues = implement(adminOperations.listQueues, {
  async handle({ query, resources: { cells, services, queueHistory }, now }) {
    const { data: all, gone } = await readQueues(services, now);
    const { attention } = query;
    const chosen = attention === undefined ? all : all.filter((queue) => needsAttention(queue) === attention);
    const data = chosen.map((queue) => ({
      ...cells.shown(queue),
      ...(query.history && { history: queueHistory.of(queue) }),
    }));
    return { data, ...services.shownGone(gone) };
  },
});
