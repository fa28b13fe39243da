import { adminOperations } from '@customer-platform/contracts/accounts';
import { implement } from '../admin-operation.ts';
import { readQueues } from './read-queues.ts';

/** Lists every queue of every service that replies. */
export const listQueues = implement(adminOperations.listQueues, {
  async handle({ query, resources: { services, queueHistory }, now }) {
    const { data, gone } = await readQueues(services, now);
    if (!query.history) return { data, gone };
    return { data: data.map((queue) => ({ ...queue, history: queueHistory.of(queue) })), gone };
  },
});
