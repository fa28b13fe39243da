import { adminOperations } from '@customer-platform/contracts/accounts';
import { implement } from '../admin-operation.ts';
import { changeDeadEvent } from './change-dead-event.ts';
import { findDeadEvent, noSuchDeadEvent } from './find-dead-event.ts';

/** Drops a dead event for good. */
export const dropDeadEvent = implement(adminOperations.dropDeadEvent, {
  async handle({ params: { dead_id: id }, body: { reason }, prefetch, resources: { services } }) {
    prefetch(async (call) => {
      const found = await findDeadEvent(services, id);
      if (!found) throw noSuchDeadEvent();
      await changeDeadEvent(call, found, 'dead.drop', async () => {
        const { matched } = await services.ask(found.service, 'dropDeadEvent', { id }, 'change');
        return { matched, after: { reason } };
      });
    });
    return undefined;
  },
});
