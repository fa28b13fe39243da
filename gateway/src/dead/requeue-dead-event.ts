import { adminOperations } from '@customer-platform/contracts/accounts';
import { implement } from '../admin-operation.ts';
import { changeDeadEvent } from './change-dead-event.ts';
import { findDeadEvent, noSuchDeadEvent } from './find-dead-event.ts';

/** Requeues a dead event, its tries from the start. */
export const requeueDeadEvent = implement(adminOperations.requeueDeadEvent, {
  async handle({ params: { dead_id: id }, prefetch, resources: { services } }) {
    prefetch(async (call) => {
      const found = await findDeadEvent(services, id);
      if (!found) throw noSuchDeadEvent();
      await changeDeadEvent(call, found, 'dead.requeue', () =>
        services.ask(found.service, 'requeueDeadEvents', { id }, 'change'),
      );
    });
    return undefined;
  },
});
