import { adminOperations, lagLimitSeconds, type Queue } from '@customer-platform/contracts/accounts';
import { implement } from '../admin-operation.ts';
import { readQueues } from './read-queues.ts';

/** Lists the queues of every service that replies: all, or those that need attention. */
export const listQueues = implement(adminOperations.listQueues, {
  async handle({ query, resources: { services, queueHistory }, now }) {
    const { data: all, gone } = await readQueues(services, now);
    const { attention } = query;
    const data = attention === undefined ? all : all.filter((queue) => needsAttention(queue) === attention);
    if (!query.history) return { data, gone };
    return { data: data.map((queue) => ({ ...queue, history: queueHistory.of(queue) })), gone };
  },
});

function needsAttention({ lag_seconds, pauses, dead, failed_waiting = 0 }: Queue): boolean {
  return lag_seconds > lagLimitSeconds || pauses.length > 0 || dead > 0 || failed_waiting > 0;
}
