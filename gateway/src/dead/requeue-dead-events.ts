import { adminOperations } from '@customer-platform/contracts/accounts';
import { ApiError } from '@customer-platform/contracts/core';
import { findAccountRow } from '../accounts/accounts.sql.ts';
import { implement } from '../admin-operation.ts';
import { recordAround } from '../audit/record-change.ts';
import { serviceNamed } from '../operators/services.ts';
import { noSuchQueue } from '../queues/change-queue.ts';

/** Requeues the dead events of a queue, or those of an account in it. */
export const requeueDeadEvents = implement(adminOperations.requeueDeadEvents, {
  async handle({ body: { service: name, queue, account }, prefetch, resources: { services } }) {
    const matched = prefetch(async (call) => {
      const service = serviceNamed(name);
      if (account && !(await findAccountRow(call.sql, account))) {
        throw new ApiError('not_found', `There is no account ${account}`);
      }
      const change = { action: 'dead.requeue' as const, target: `${service}/${queue}`, account };
      return await recordAround(call, change, async () => {
        const part = { queue, ...(account && { account }) };
        const reply = await services.ask(service, 'requeueDeadEvents', part, 'change');
        if (reply.queues) throw noSuchQueue(service, queue, reply.queues);
        return { isChanged: reply.matched > 0, result: reply.matched, after: { matched: reply.matched } };
      });
    });
    return { matched };
  },
});
