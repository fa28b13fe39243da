import { adminOperations } from '@customer-platform/contracts/accounts';
import { implement } from '../admin-operation.ts';
import { changeQueue } from './change-queue.ts';

/** Pauses a queue, or a part of it. */
export const pauseQueue = implement(adminOperations.pauseQueue, {
  async handle({ params, body, prefetch, resources: { services } }) {
    prefetch((call) =>
      changeQueue(call, { params, body }, 'queues.pause', async (service, part) => {
        const { reason } = body;
        const reply = await services.ask(
          service,
          'pauseQueue',
          { ...part, reason, actor: call.account.name },
          'change',
        );
        return { ...reply, after: body };
      }),
    );
    return undefined;
  },
});
