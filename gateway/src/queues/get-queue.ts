import { adminOperations } from '@customer-platform/contracts/accounts';
import { implement } from '../admin-operation.ts';
import { serviceNamed } from '../operators/services.ts';
import { noSuchQueue } from './change-queue.ts';
import { toQueue, toShares } from './queue-shape.ts';

/** Retrieves a queue with its deepest shares. */
export const getQueue = implement(adminOperations.getQueue, {
  async handle({ params, query: { by }, resources: { services }, now }) {
    const service = serviceNamed(params.service);
    const { queue } = params;
    const [{ queues }, { shares }, processes] = await Promise.all([
      services.ask(service, 'measureQueues', {}),
      services.ask(service, 'measureShares', { queue, by }),
      services.processes({ service, queue }),
    ]);
    const measured = queues.find((one) => one.queue === queue);
    if (!measured || !shares)
      throw noSuchQueue(
        service,
        queue,
        queues.map((one) => one.queue),
      );
    return { ...toQueue(service, measured, processes, now), top: toShares(measured, shares, processes, by) };
  },
});
