import { adminOperations } from '@customer-platform/contracts/accounts';
import { implement } from '../admin-operation.ts';
import { serviceNamed } from '../services.ts';
import { changeQueue } from './change-queue.ts';

/** Has what waits after a failure run now. */
export const retryQueue = implement(adminOperations.retryQueue, {
  find: async ({ params }) => serviceNamed(params.service),
  async handle({ found, params: { queue }, body, prefetch, resources: { services } }) {
    const matched = prefetch((call) =>
      changeQueue(call, { service: found, queue, body, services }, 'queues.retry', async (place, part) => {
        const reply = await services.ask(place, 'retryQueue', part, 'change');
        return { ...reply, after: { ...body, matched: reply.matched } };
      }),
    );
    return { matched };
  },
});
