import type { Queue } from '@customer-platform/contracts/accounts';
import { useQuery } from '@tanstack/react-query';
import { call } from './api.ts';

/** Poll interval of queues in milliseconds. */
export const queuePollMs = 2_000;
const historyMs = 3_600_000;

/** Depth of a queue over the last hour: times in seconds, and entries at each. */
export interface DepthHistory {
  times: number[];
  depths: number[];
}

/** Depths by queue: those that the gateway sampled, and those that this page has seen since; at most an hour of each. */
const histories = new Map<string, DepthHistory>();
/** Time without polls after which the gateway is asked for its samples again: the page slept, or was just opened. */
const gapMs = 90_000;
let lastPollMs = Number.NEGATIVE_INFINITY;

/** The queue of webhooks' deliveries, the one that has endpoints. */
export const deliveries = { service: 'webhooks', queue: 'deliveries' };

/** The names of a queue. */
export interface NamedQueue {
  service: string;
  queue: string;
}

/** Returns what a queue is known by: `webhooks/deliveries`. */
export function queueName({ service, queue }: NamedQueue): string {
  return `${service}/${queue}`;
}

/** Returns the entries of a queue that are not done. */
export function depthOf({ ready, running, waiting }: { ready: number; running: number; waiting: number }): number {
  return ready + running + waiting;
}

/** Numbers that tell whether somebody should look at a queue. */
type Depths = Pick<Queue, 'ready' | 'running' | 'waiting' | 'failed_waiting' | 'dead'>;

/** Returns whether something of a queue has failed and is not done since. Where failures are not counted, anything left may be one. */
export function hasFailed(queue: Depths): boolean {
  return queue.dead > 0 || (queue.failed_waiting ?? depthOf(queue)) > 0;
}

/** Returns the depths of a queue, oldest first. */
export function depthHistory(name: string): DepthHistory {
  return histories.get(name) ?? { times: [], depths: [] };
}

/** Adds a poll to the depths, and the gateway's samples where it has them. */
function remember(queues: Queue[], now: number): void {
  for (const queue of queues) {
    const name = queueName(queue);
    const { times, depths } = depthHistory(name);
    const seen = times.map((time, index) => ({ time, depth: depths[index]! }));
    const sampled = (queue.history ?? []).map((each) => ({ time: Date.parse(each.at) / 1_000, depth: depthOf(each) }));
    const points = [...seen, ...sampled, { time: now / 1_000, depth: depthOf(queue) }].filter(
      ({ time }) => time * 1_000 >= now - historyMs,
    );
    if (sampled.length > 0) points.sort((one, other) => one.time - other.time);
    histories.set(name, { times: points.map(({ time }) => time), depths: points.map(({ depth }) => depth) });
  }
}

/** Every queue, polled while the console is open whatever page it shows, so that depths have no gaps. */
export function useQueues() {
  return useQuery({
    queryKey: ['GET /admin/queues'],
    queryFn: async ({ signal }) => {
      const query = Date.now() - lastPollMs > gapMs ? { history: true } : {};
      const list = await call('GET /admin/queues', { query, signal });
      lastPollMs = Date.now();
      remember(list.data, lastPollMs);
      return list;
    },
    refetchInterval: queuePollMs,
    refetchIntervalInBackground: true,
    staleTime: queuePollMs,
  });
}
