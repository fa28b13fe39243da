import type { ClockedWork, ReportedQueue, WatchedRows } from '@customer-platform/service-kit';
import { describeEndpoints, isEndpointOf, lookAtDeliveries, retryDeliveries } from './queued-deliveries.sql.ts';

/** The queue of deliveries that wait for an attempt. It excludes endpoints paused by customers, whose deliveries are not late. */
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

/** Makes an advancing sandbox clock stop at due deliveries and wait for them. `wake` wakes the dispatcher, which sends them. */
export const clockedDeliveries = (wake: () => void): ClockedWork => ({
  queue: deliveries.queue,
  rows: { name: 'queues', due: 'due_at', look: lookAtDeliveries },
  take: async () => {
    wake();
    return false;
  },
});

/** Queues that a process can claim: those with due work, and those whose lease has expired. */
export const dueQueues: readonly WatchedRows[] = [
  { name: 'queues', due: 'due_at', where: (sql) => sql`owner is null and not paused` },
  { name: 'queues', due: 'leased_until', where: (sql) => sql`owner is not null and not paused` },
];
