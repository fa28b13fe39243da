import type { OperatedEndpoint, Queue } from '@customer-platform/contracts/accounts';
import {
  type AttentionReason,
  attentionOf,
  attentionReasons,
  type GoneText,
  goneText,
  isBusGone,
  type ProcessAttention,
  processAttentionOf,
  runbookOf,
  runbookOfReason,
  silentText,
} from '@customer-platform/contracts/operators';
import { processPollMs, type SeenProcess, useProcesses } from './processes.ts';
import { deliveries, queueName, useQueues } from './queues.ts';
import { type Listed, useLastError, useList } from './ui/lists.tsx';

/** Something that a person on call should look at. */
export type AttentionItem = { key: string; runbook: string } & (
  | { kind: 'gone'; service: string; text: GoneText }
  | { kind: 'waiting'; process: SeenProcess; text: ProcessAttention['text'] }
  | { kind: AttentionReason; queue: Queue }
  | { kind: 'failing'; endpoint: OperatedEndpoint }
);

function goneItems(gone: string[]): AttentionItem[] {
  const parts: [service: string, gone: string[]][] = isBusGone(gone)
    ? [['NATS', gone]]
    : gone.map((service) => [service, [service]]);
  return parts.map(([service, silent]) => {
    const what = service === deliveries.service ? 'queues, dead events and endpoints' : 'queues and dead events';
    const text = goneText(silent, what)!;
    return { kind: 'gone', key: `gone ${service}`, service, text, runbook: text.runbook };
  });
}

/** Returns an item for each reason for which a process needs attention; what one waited for that is gone since is no news. */
function processItems(processes: SeenProcess[]): AttentionItem[] {
  return processes
    .filter(({ gone }) => !gone)
    .flatMap((process) =>
      processAttentionOf(process).map(({ text, runbook }, index): AttentionItem => {
        return { kind: 'waiting', key: `waiting ${process.instance} ${index}`, process, text, runbook };
      }),
    );
}

/** Returns an item for each reason for which a queue needs attention: the late ones by their lag. */
function queueItems(queues: Queue[], reasons: readonly AttentionReason[]): AttentionItem[] {
  const latestFirst = queues.toSorted((one, other) => other.lag_seconds - one.lag_seconds);
  return reasons.flatMap((kind) =>
    (kind === 'lag' ? latestFirst : queues)
      .filter((queue) => attentionOf(queue).includes(kind))
      .map((queue): AttentionItem => {
        return { kind, key: `${kind} ${queueName(queue)}`, queue, runbook: runbookOfReason(kind, queue.queue) };
      }),
  );
}

interface Known {
  gone: string[];
  queues: Queue[];
  processes: SeenProcess[];
  endpoints: Listed<OperatedEndpoint>;
}

function itemsOf({ gone, queues, processes, endpoints }: Known): AttentionItem[] {
  const silent = silentText(
    endpoints.gone.filter((service) => !isBusGone(gone) && !gone.includes(service)),
    'endpoints',
  );
  const onlyEndpoints: AttentionItem[] = silent
    ? [{ kind: 'gone', key: 'gone endpoints', service: deliveries.service, text: silent, runbook: silent.runbook }]
    : [];
  const failing = endpoints.items.map((endpoint): AttentionItem => {
    return { kind: 'failing', key: `failing ${endpoint.id}`, endpoint, runbook: runbookOf.failing };
  });
  const others = attentionReasons.filter((reason) => reason !== 'lag');
  return [
    ...goneItems(gone),
    ...onlyEndpoints,
    ...processItems(processes),
    ...queueItems(queues, ['lag']),
    ...failing,
    ...queueItems(queues, others),
  ];
}

/**
 * Everything that needs attention now, as far as its sources respond, the most urgent first. `failing` can load more of the endpoints; the
 * error of a source says nothing about the others. `checkedAt` is the time in milliseconds at which the source that responded longest ago did.
 */
export function useAttention() {
  const queues = useQueues();
  const queuesError = useLastError('queues', queues);
  const processes = useProcesses(processPollMs);
  const processesError = useLastError('processes', processes);
  const failing = useList('GET /admin/endpoints', { query: { failing: true } });
  const { data = [], gone = [] } = queues.data ?? {};
  return {
    items: itemsOf({ gone, queues: data, processes: processes.data?.data ?? [], endpoints: failing }),
    queues: { isLoaded: queues.data !== undefined, error: queuesError },
    processes: { isLoaded: processes.data !== undefined, error: processesError },
    failing,
    checkedAt: Math.min(queues.dataUpdatedAt, processes.dataUpdatedAt, failing.loadedAt),
  };
}
