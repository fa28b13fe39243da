import type { OperatedEndpoint, Queue } from '@customer-platform/contracts/accounts';
import { maxLagSeconds, queueName, useQueues } from './queues.ts';
import { isBusGone } from './ui/gone.tsx';
import { useList } from './ui/lists.tsx';

/** Something that a person on call should look at. */
export type AttentionItem =
  | { kind: 'bus'; key: string }
  | { kind: 'gone'; key: string; service: string }
  | { kind: 'lag'; key: string; queue: Queue }
  | { kind: 'paused'; key: string; queue: Queue }
  | { kind: 'dead'; key: string; queue: Queue }
  | { kind: 'failing'; key: string; endpoint: OperatedEndpoint };

function goneOf(gone: string[]): AttentionItem[] {
  if (isBusGone(gone)) return [{ kind: 'bus', key: 'bus' }];
  return gone.map((service): AttentionItem => ({ kind: 'gone', key: `gone ${service}`, service }));
}

function itemsOf(gone: string[], queues: Queue[], endpoints: OperatedEndpoint[]): AttentionItem[] {
  const keyed = (kind: string, queue: Queue) => `${kind} ${queueName(queue)}`;
  const late = queues.filter((queue) => queue.lag_seconds > maxLagSeconds);
  const paused = queues.filter((queue) => queue.pauses.length > 0);
  const dead = queues.filter((queue) => queue.dead > 0);
  return [
    ...goneOf(gone),
    ...late
      .toSorted((one, other) => other.lag_seconds - one.lag_seconds)
      .map((queue): AttentionItem => ({ kind: 'lag', key: keyed('lag', queue), queue })),
    ...endpoints.map((endpoint): AttentionItem => ({ kind: 'failing', key: `failing ${endpoint.id}`, endpoint })),
    ...dead.map((queue): AttentionItem => ({ kind: 'dead', key: keyed('dead', queue), queue })),
    ...paused.map((queue): AttentionItem => ({ kind: 'paused', key: keyed('paused', queue), queue })),
  ];
}

/** Everything that needs attention now, the most urgent first. `failing` can load more of the endpoints. */
export function useAttention() {
  const queues = useQueues();
  const failing = useList('GET /admin/endpoints', { query: { failing: true } });
  const { data = [], gone = [] } = queues.data ?? {};
  return {
    items: itemsOf(gone, data, failing.items),
    isLoading: queues.isLoading || failing.isLoading,
    error: queues.error ?? failing.error,
    failing,
  };
}
