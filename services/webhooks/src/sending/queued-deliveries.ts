import type { ClockedWork, ReportedQueue, WatchedRows } from '@customer-platform/service-kit';
import { describeEndpoints, isEndpointOf, lookAtDeliveries, retryDeliveries } from './queued-deliveries.sql.ts';

/** Deliveries that wait for their next try, as a queue; without those at endpoints that their customers have paused, which are late for nobody. */
export const deliveries: ReportedQueue = {
  queue: 'deliveries',
  rows: {
    name: 'deliveries',
    due: 'next_try_at',
    where: (sql) => sql`status = 'pending' and endpoint_id <> all(array(select endpoint_id from queues where paused))`,
    endpoint: 'endpoint_id',
    failed: (sql) => sql`step > 0`,
    countsFailed: true,
  },
  hasEndpoint: isEndpointOf,
  describe: describeEndpoints,
  retry: retryDeliveries,
};

/** The same as the clocks of accounts see them: the dispatcher, which `wake` wakes, takes what is due by them. */
export const clockedDeliveries = (wake: () => void): ClockedWork => ({
  queue: deliveries.queue,
  rows: { name: 'queues', due: 'due_at', look: lookAtDeliveries },
  take: async () => {
    wake();
    return false;
  },
});

/** Queues that a process can take: those with something due, and those of a process that died. */
export const dueQueues: readonly WatchedRows[] = [
  { name: 'queues', due: 'due_at', where: (sql) => sql`owner is null and not paused` },
  { name: 'queues', due: 'leased_until', where: (sql) => sql`owner is not null and not paused` },
];
