import type { Queue } from '@customer-platform/contracts/accounts';
import { isBusGone } from '@customer-platform/contracts/operators';
import { useQuery } from '@tanstack/react-query';
import { call } from './api.ts';

/** Poll interval of queues in milliseconds. */
export const queuePollMs = 2_000;
const historyMs = 3_600_000;

/** Depth of a queue over the last hour: times in seconds, and entries at each, null where nobody has seen the queue. */
export interface DepthHistory {
  times: number[];
  /** Entries that were ready or running. */
  due: (number | null)[];
  waiting: (number | null)[];
}

/** Depth of a queue at one time, in seconds. */
interface DepthPoint {
  time: number;
  /** Null where the queue's service did not respond. */
  due: number | null;
  waiting: number | null;
}

/** Depths by queue: those that the gateway sampled, and those that this page has seen since; at most an hour of each. */
const histories = new Map<string, DepthPoint[]>();
/** Time without polls after which the gateway is asked for its samples again: the page slept, or was just opened. */
const gapMs = 90_000;
/** Time between two samples of the gateway in seconds. */
const stepSeconds = 60;
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

/** Returns the depths of a queue, oldest first, with gaps where it was not seen. */
export function depthHistory(name: string): DepthHistory {
  const history: DepthHistory = { times: [], due: [], waiting: [] };
  const add = (time: number, due: number | null, waiting: number | null) => {
    history.times.push(time);
    history.due.push(due);
    history.waiting.push(waiting);
  };
  let last = Number.POSITIVE_INFINITY;
  for (const { time, due, waiting } of histories.get(name) ?? []) {
    for (const lost of lostBetween(last, time)) add(lost, null, null);
    add(time, due, waiting);
    last = time;
  }
  return history;
}

/** Returns the times in seconds between two samples at which one is missing. One sample that is late is no gap. */
function lostBetween(from: number, to: number): number[] {
  const steps = (to - from) / stepSeconds;
  if (steps <= 2.2) return [];
  return Array.from({ length: Math.ceil(steps) - 1 }, (_, index) => from + (index + 1) * stepSeconds);
}

/** Adds a poll to the depths, and the gateway's samples where it has them; of a queue that is not in it the depth is unknown. */
function remember(queues: Queue[], now: number): void {
  for (const queue of queues) {
    const name = queueName(queue);
    const pointOf = (time: number, { ready, running, waiting }: Pick<Queue, 'ready' | 'running' | 'waiting'>) => ({
      time,
      due: ready + running,
      waiting,
    });
    const sampled = (queue.history ?? []).map((each) => pointOf(Date.parse(each.at) / 1_000, each));
    const points = [...(histories.get(name) ?? []), ...sampled, pointOf(now / 1_000, queue)].filter(
      ({ time }) => time * 1_000 >= now - historyMs,
    );
    if (sampled.length > 0) points.sort((one, other) => one.time - other.time);
    histories.set(name, points);
  }
  const seen = new Set(queues.map(queueName));
  for (const [name, points] of histories) {
    if (seen.has(name)) continue;
    const kept = points.filter(({ time }) => time * 1_000 >= now - historyMs);
    histories.set(name, [...kept, { time: now / 1_000, due: null, waiting: null }]);
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

/**
 * The services that a page about one of `service` says to be gone: none while that responds, all without the bus. The list of all queues knows
 * it before the page's own request is refused, after a second.
 */
export function useGone(service: string): string[] {
  const gone: string[] = useQueues().data?.gone ?? [];
  if (!gone.includes(service)) return [];
  return isBusGone(gone) ? gone : [service];
}
