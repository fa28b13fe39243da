import type { Queue } from '@customer-platform/contracts/accounts';
import { useQuery } from '@tanstack/react-query';
import { call } from './api.ts';

/** Poll interval of queues in milliseconds. */
export const queuePollMs = 2_000;
/** A queue whose oldest due entry is older than this needs attention. */
export const maxLagSeconds = 60;
const historyMs = 3_600_000;

/** Depth of a queue over the last hour: times in seconds, and entries at each. */
export interface DepthHistory {
  times: number[];
  depths: number[];
}

/** The page alone remembers depths, while it is open: at most an hour of polls for each queue. */
const histories = new Map<string, DepthHistory>();

/** Returns what a queue is known by: `webhooks/deliveries`. */
export function queueName({ service, queue }: { service: string; queue: string }): string {
  return `${service}/${queue}`;
}

/** Returns the entries of a queue that are not done. */
export function depthOf({ ready, running, waiting }: { ready: number; running: number; waiting: number }): number {
  return ready + running + waiting;
}

/** Returns the depths of a queue that this page has seen. */
export function depthHistory(name: string): DepthHistory {
  return histories.get(name) ?? { times: [], depths: [] };
}

function remember(queues: Queue[], now: number): void {
  for (const queue of queues) {
    const name = queueName(queue);
    const { times, depths } = depthHistory(name);
    const first = times.findIndex((time) => time * 1_000 >= now - historyMs);
    const from = first === -1 ? times.length : first;
    histories.set(name, {
      times: [...times.slice(from), now / 1_000],
      depths: [...depths.slice(from), depthOf(queue)],
    });
  }
}

/** Every queue, polled while the console is open whatever page it shows, so that depths have no gaps. */
export function useQueues() {
  return useQuery({
    queryKey: ['GET /admin/queues'],
    queryFn: async ({ signal }) => {
      const list = await call('GET /admin/queues', { signal });
      remember(list.data, Date.now());
      return list;
    },
    refetchInterval: queuePollMs,
    refetchIntervalInBackground: true,
    staleTime: queuePollMs,
  });
}
