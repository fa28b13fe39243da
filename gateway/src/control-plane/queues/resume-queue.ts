import { adminOperations } from '@customer-platform/contracts/accounts';
import { implement } from '../admin-operation.ts';
import { serviceNamed } from '../services.ts';
import { changeQueue } from './change-queue.ts';

/** Lifts the pause of a queue, or of a part of it. */
export const resumeQueue = implement(adminOperations.resumeQueue, {
  find: async ({ params }) => serviceNamed(params.service),
  async handle({ found, params: { queue }, body, prefetch, resources: { services } }) {
    prefetch((call) =>
      changeQueue(call, { service: found, queue, body, services }, 'queues.resume', (place, part) =>
        services.ask(place, 'resumeQueue', part, 'change'),
      ),
    );
    return undefined;
  },
});
