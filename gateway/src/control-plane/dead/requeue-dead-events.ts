import { adminOperations } from '@customer-platform/contracts/accounts';
import { cellOfRequest } from '../../accounts/cell-of-account.ts';
import { implement } from '../admin-operation.ts';
import { recordAround } from '../audit/record-change.ts';
import { noSuchQueue } from '../queues/change-queue.ts';

/** Requeues the dead events of a queue, or those of an account in it. */
export const requeueDeadEvents = implement(adminOperations.requeueDeadEvents, {
  async handle({ body: { service, queue, account, cell }, prefetch, resources: { services } }) {
    const matched = prefetch(async (call) => {
      const place = services.place(service, await call.onConnection((sql) => cellOfRequest(sql, { account, cell })));
      const change = { action: 'dead.requeue' as const, target: `${service}/${queue}`, account };
      return await recordAround(call, change, async () => {
        const part = { queue, ...(account && { account }) };
        const reply = await services.ask(place, 'requeueDeadEvents', part, 'change');
        if (reply.queues) throw noSuchQueue(service, queue, reply.queues);
        return {
          isChanged: reply.matched > 0,
          result: reply.matched,
          after: { matched: reply.matched, ...(cell && { cell }) },
        };
      });
    });
    return { matched };
  },
});
