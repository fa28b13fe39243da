import { adminOperations } from '@customer-platform/contracts/accounts';
import { implement } from '../admin-operation.ts';
import { changeDeadEvent } from './change-dead-event.ts';
import { findDeadEvent } from './find-dead-event.ts';

/** Drops a dead event for good. */
export const dropDeadEvent = implement(adminOperations.dropDeadEvent, {
  find: async ({ params, prefetch, resources: { services } }) =>
    prefetch(() => findDeadEvent(services, params.dead_id)),
  async handle({ found, params: { dead_id: id }, body: { reason }, prefetch, resources: { services } }) {
    prefetch((call) =>
      changeDeadEvent(call, found, 'dead.drop', async () => {
        const { matched } = await services.ask(found.place, 'dropDeadEvent', { id }, 'change');
        return { matched, after: { reason } };
      }),
    );
    return undefined;
  },
});
