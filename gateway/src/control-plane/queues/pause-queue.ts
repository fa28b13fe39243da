import { adminOperations } from '@customer-platform/contracts/accounts';
import { implement } from '../admin-operation.ts';
import { serviceNamed } from '../services.ts';
import { changeQueue } from './change-queue.ts';

/** Pauses a queue, or a part of it. */
export const pauseQueue = implement(adminOperations.pauseQueue, {
  find: async ({ params }) => serviceNamed(params.service),
  async handle({ found, params: { queue }, body, prefetch, resources: { services } }) {
    prefetch((call) =>
      changeQueue(call, { service: found, queue, body, services }, 'queues.pause', async (place, part) => {
        const pause = { ...part, reason: body.reason, actor: call.account.name };
        const reply = await services.ask(place, 'pauseQueue', pause, 'change');
        if (reply.matched > 0) await services.spreadPauses(place);
        return { ...reply, after: body };
      }),
    );
    return undefined;
  },
});
