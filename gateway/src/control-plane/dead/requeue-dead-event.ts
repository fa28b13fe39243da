import { adminOperations } from '@customer-platform/contracts/accounts';
import { implement } from '../admin-operation.ts';
import { changeDeadEvent } from './change-dead-event.ts';
import { findDeadEvent } from './find-dead-event.ts';

/** Requeues a dead event, its tries from the start. */
export const requeueDeadEvent = implement(adminOperations.requeueDeadEvent, {
  find: async ({ params, prefetch, resources: { services } }) =>
    prefetch(() => findDeadEvent(services, params.dead_id)),
  async handle({ found, params: { dead_id: id }, prefetch, resources: { services } }) {
    prefetch((call) =>
      changeDeadEvent(call, found, 'dead.requeue', () =>
        services.ask(found.place, 'requeueDeadEvents', { id }, 'change'),
      ),
    );
    return undefined;
  },
});
