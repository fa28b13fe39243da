import { adminOperations } from '@customer-platform/contracts/accounts';
import { implement } from '../admin-operation.ts';
import { toQueue } from './queue-shape.ts';

/** Lists every queue of every service that replies. */
export const listQueues = implement(adminOperations.listQueues, {
  async handle({ resources: { services }, now }) {
    const [{ replies, gone }, processes] = await Promise.all([
      services.askEach('measureQueues', {}),
      services.processes(),
    ]);
    const data = replies.flatMap(({ service, reply }) =>
      reply.queues.map((measured) => toQueue(service, measured, processes, now)),
    );
    return { data, gone };
  },
});
