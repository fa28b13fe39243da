import { adminOperations } from '@customer-platform/contracts/accounts';
import { implement } from '../admin-operation.ts';
import { serviceNamed } from '../services.ts';
import { noSuchQueue } from './change-queue.ts';
import { toOwners, toQueue } from './queue-shape.ts';

/** Retrieves a queue with its deepest owners. */
export const getQueue = implement(adminOperations.getQueue, {
  find: async ({ params }) => serviceNamed(params.service),
  async handle({
    found: service,
    params: { queue },
    query: { by, history, cell },
    resources: { cells, services, queueHistory },
    now,
  }) {
    const place = services.place(service, cell);
    const [{ queues }, { owners }, processes] = await Promise.all([
      services.ask(place, 'measureQueues', {}),
      services.ask(place, 'measureOwners', { queue, by }),
      services.processes({ ...place, queue }),
    ]);
    const measured = queues.find((one) => one.queue === queue);
    if (!measured || !owners)
      throw noSuchQueue(
        service,
        queue,
        queues.map((one) => one.queue),
      );
    return {
      ...cells.shown(toQueue(place, measured, processes, now)),
      ...(history && { history: queueHistory.of({ ...place, queue }) }),
      top: toOwners(measured, owners, processes, by),
    };
  },
});
