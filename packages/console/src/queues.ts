import type { Queue } from '@customer-platform/contracts/accounts';
import { isBusGone } from '@customer-platform/contracts/operators';
import { useQuery } from '@tanstack/react-query';
import { call } from './api.ts';

/** Poll interval of queues in milliseconds. */
export const queuePollMs = 2_000;
const historyMs = 3_600_000;

/** Depth of a queue over the last hour: times in seconds, and the numbers of entries. Null where there is no sample. */
export interface DepthHistory {
  times: number[];
  /** Number of ready and running entries. */
  due: (number | null)[];
  waiting: (number | null)[];
}

/** Depth of a queue at one time. `time` is in seconds. */
interface DepthPoint {
  time: number;
  /** Null if the queue's service did not respond. */
  due: number | null;
  waiting: number | null;
}

/** Depths by queue for the last hour: the gateway's samples, then the polls of this page. */
const histories = new Map<string, DepthPoint[]>();
/** After this many milliseconds without a poll, the page requests the gateway's samples again, such as after sleep. */
const gapMs = 90_000;
/** Seconds between two samples of the gateway. */
const stepSeconds = 60;
let lastPollMs = Number.NEGATIVE_INFINITY;

/** The queue of webhook deliveries. It is the only queue with endpoints. */
export const deliveries = { service: 'webhooks', queue: 'deliveries' };

/** A queue's service and name. */
export interface NamedQueue {
  service: string;
  queue: string;
}

/** Returns a queue's full name, such as `webhooks/deliveries`. */
export function queueName({ service, queue }: NamedQueue): string {
  return `${service}/${queue}`;
}

/** Returns the number of unfinished entries. */
export function depthOf({ ready, running, waiting }: { ready: number; running: number; waiting: number }): number {
  return ready + running + waiting;
}

/** Numbers that decide whether a queue has failures. */
type Depths = Pick<Queue, 'ready' | 'running' | 'waiting' | 'failed_waiting' | 'dead'>;

/** Returns whether a queue has unresolved failures. If it does not count failures, any unfinished entry may be one. */
export function hasFailed(queue: Depths): boolean {
  return queue.dead > 0 || (queue.failed_waiting ?? depthOf(queue)) > 0;
}

/** Returns a queue's depths, oldest first, with nulls where samples are missing. */
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

/** Returns the times in seconds of missing samples between two times. A single late sample is not a gap. */
function lostBetween(from: number, to: number): number[] {
  const steps = (to - from) / stepSeconds;
  if (steps <= 2.2) return [];
  return Array.from({ length: Math.ceil(steps) - 1 }, (_, index) => from + (index + 1) * stepSeconds);
}

/** Adds a poll to the histories, with the gateway's samples if it has them. The depth of a queue that is missing in the poll is unknown. */
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

/** Returns all queues. Polls on all pages while the console is open, so that depths have no gaps. */
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
 * Returns the gone services that a page about `service` reports: none while it responds, all if the bus is gone. The list of all queues has
 * this before the page's own request fails, which takes a second.
 */
export function useGone(service: string): string[] {
  const gone: string[] = useQueues().data?.gone ?? [];
  if (!gone.includes(service)) return [];
  return isBusGone(gone) ? gone : [service];
}
