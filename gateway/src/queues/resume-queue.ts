import { adminOperations } from '@customer-platform/contracts/accounts';
import { implement } from '../admin-operation.ts';
import { changeQueue } from './change-queue.ts';

/** Lifts the pause of a queue, or of a part of it. */
export const resumeQueue = implement(adminOperations.resumeQueue, {
  async handle({ params, body, prefetch, resources: { services } }) {
    prefetch((call) =>
      changeQueue(call, { ...params, body, services }, 'queues.resume', (place, part) =>
        services.ask(place, 'resumeQueue', part, 'change'),
      ),
    );
    return undefined;
  },
});
