import type { OperatedEndpoint, Queue } from '@customer-platform/contracts/accounts';
import { maxLagSeconds, queueName, useQueues } from './queues.ts';
import { runbookOf, runbookOfQueue } from './runbooks.ts';
import { isBusSuspected } from './ui/gone.tsx';
import { useLastError, useList } from './ui/lists.tsx';

/** Something that a person on call should look at. */
export type AttentionItem = { key: string; runbook: string } & (
  | { kind: 'bus'; gone: string[] }
  | { kind: 'gone'; service: string }
  | { kind: 'lag'; queue: Queue }
  | { kind: 'paused'; queue: Queue }
  | { kind: 'dead'; queue: Queue }
  | { kind: 'failing'; endpoint: OperatedEndpoint }
);

function goneItems(gone: string[]): AttentionItem[] {
  if (isBusSuspected(gone)) return [{ kind: 'bus', key: 'bus', gone, runbook: runbookOf.bus }];
  return gone.map((service) => ({ kind: 'gone', key: `gone ${service}`, service, runbook: runbookOf.gone }));
}

function queueItem(kind: 'lag' | 'paused' | 'dead', queue: Queue): AttentionItem {
  const runbook = kind === 'dead' ? runbookOf.dead : runbookOfQueue(queue.queue);
  return { kind, key: `${kind} ${queueName(queue)}`, queue, runbook };
}

function itemsOf(gone: string[], queues: Queue[], endpoints: OperatedEndpoint[]): AttentionItem[] {
  const late = queues.filter((queue) => queue.lag_seconds > maxLagSeconds);
  const paused = queues.filter((queue) => queue.pauses.length > 0);
  const dead = queues.filter((queue) => queue.dead > 0);
  return [
    ...goneItems(gone),
    ...late
      .toSorted((one, other) => other.lag_seconds - one.lag_seconds)
      .map((queue): AttentionItem => queueItem('lag', queue)),
    ...endpoints.map(
      (endpoint): AttentionItem => ({
        kind: 'failing',
        key: `failing ${endpoint.id}`,
        endpoint,
        runbook: runbookOf.failing,
      }),
    ),
    ...dead.map((queue) => queueItem('dead', queue)),
    ...paused.map((queue) => queueItem('paused', queue)),
  ];
}

/**
 * Everything that needs attention now, as far as its sources respond, the most urgent first. `failing` can load more of the endpoints; its
 * error says nothing about the queues.
 */
export function useAttention() {
  const queues = useQueues();
  const queuesError = useLastError('queues', queues);
  const failing = useList('GET /admin/endpoints', { query: { failing: true } });
  const { data = [], gone = [] } = queues.data ?? {};
  return {
    items: itemsOf(gone, data, failing.items),
    queues: { isLoaded: queues.data !== undefined, error: queuesError },
    failing,
  };
}
