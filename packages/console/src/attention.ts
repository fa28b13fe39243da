import type { CustomerAttention, OperatedEndpoint, Queue } from '@customer-platform/contracts/accounts';
import {
  type AttentionReason,
  attentionOf,
  type GoneText,
  goneText,
  isBusGone,
  processAttentionOf,
  runbookOf,
  runbookOfReason,
  silentText,
} from '@customer-platform/contracts/operators';
import { processPollMs, type SeenProcess, useProcesses } from './processes.ts';
import { deliveries, queueName, useQueues } from './queues.ts';
import { type Listed, useLastError, useList, useResource } from './ui/lists.tsx';

export type FailingChannel = CustomerAttention['channels'][number];
export type TroubledAccount = CustomerAttention['accounts'][number];
export type DisabledEndpoint = CustomerAttention['endpoints'][number];
export type Stranger = CustomerAttention['addresses'][number];

/** A problem that a person on call should look at. */
export type AttentionItem = { key: string; runbook: string } & (
  | { kind: 'gone'; service: string; text: GoneText }
  | { kind: 'blocked'; text: string; processes: SeenProcess[] }
  | { kind: 'late' | 'retrying' | 'paused'; queue: Queue }
  | { kind: 'dead'; queue: Queue }
  | { kind: 'failing'; endpoint: OperatedEndpoint }
  | { kind: 'disabled'; endpoint: DisabledEndpoint }
  | { kind: 'channel'; channel: FailingChannel; account: TroubledAccount | undefined }
  | { kind: 'messages' | 'modules' | 'refusals'; account: TroubledAccount }
  | { kind: 'stranger'; address: Stranger }
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

/** Returns one item per missing dependency, with all processes that wait for it. */
function blockedItems(processes: SeenProcess[]): AttentionItem[] {
  const reasons = processes
    .filter(({ state }) => state === 'live')
    .flatMap((process) => processAttentionOf(process).map(({ text, runbook }) => ({ process, text, runbook })));
  return [...Map.groupBy(reasons, ({ text }) => text)].map(([text, each]) => ({
    kind: 'blocked',
    key: `blocked ${text}`,
    text,
    processes: each.map(({ process }) => process),
    runbook: each[0]!.runbook,
  }));
}

/**
 * Returns one item per queue that does not make progress. It is one item even for several reasons, since a pause also makes a queue late.
 * `deadItems` returns the dead events. Retries at listed failing endpoints are not reported again for their queue.
 */
function queueItems(queues: Queue[], hasFailingEndpoints: boolean): AttentionItem[] {
  return queues
    .toSorted((one, other) => other.lag_seconds - one.lag_seconds)
    .flatMap((queue): AttentionItem[] => {
      const isDeliveries = queue.service === deliveries.service && queue.queue === deliveries.queue;
      const reasons = attentionOf(queue).filter(
        (reason) => reason !== 'dead' && !(reason === 'failed' && isDeliveries && hasFailingEndpoints),
      );
      const [first] = reasons;
      if (first === undefined) return [];
      const kinds: Record<Exclude<AttentionReason, 'dead'>, 'late' | 'retrying' | 'paused'> = {
        lag: 'late',
        failed: 'retrying',
        paused: 'paused',
      };
      const kind = reasons.includes('paused') ? 'paused' : kinds[first as Exclude<AttentionReason, 'dead'>];
      return [{ kind, key: `queue ${queueName(queue)}`, queue, runbook: runbookOfReason(first, queue.queue) }];
    });
}

function deadItems(queues: Queue[]): AttentionItem[] {
  return queues
    .filter((queue) => attentionOf(queue).includes('dead'))
    .map((queue) => ({ kind: 'dead', key: `dead ${queueName(queue)}`, queue, runbook: runbookOf.dead }));
}

/** Returns the customers' problems. If an account has a failing channel, its failed messages are part of the channel's item. */
function customerItems({ channels, accounts, endpoints, addresses }: CustomerAttention): AttentionItem[] {
  const troubled = new Map(accounts.map((account) => [account.account, account]));
  const hasFailingChannel = new Set(channels.map(({ account }) => account));
  return [
    ...channels.map((channel): AttentionItem => {
      const key = `channel ${channel.account} ${channel.channel}`;
      return { kind: 'channel', key, channel, account: troubled.get(channel.account), runbook: runbookOf.channel };
    }),
    ...accounts.flatMap((account) =>
      account.reasons
        .filter((reason) => reason !== 'messages' || !hasFailingChannel.has(account.account))
        .map((kind): AttentionItem => {
          return { kind, key: `${kind} ${account.account}`, account, runbook: runbookOf[kind] };
        }),
    ),
    ...endpoints.map((endpoint): AttentionItem => {
      return { kind: 'disabled', key: `disabled ${endpoint.id}`, endpoint, runbook: runbookOf.failing };
    }),
    ...addresses.map((address): AttentionItem => {
      return { kind: 'stranger', key: `stranger ${address.address}`, address, runbook: runbookOf.stranger };
    }),
  ];
}

/** Poll interval in milliseconds of the customers' problems. Each poll makes the services search all accounts. */
const customersPollMs = 10_000;

interface Known {
  gone: string[];
  queues: Queue[];
  processes: SeenProcess[];
  endpoints: Listed<OperatedEndpoint>;
  customers: CustomerAttention | undefined;
}

function itemsOf({ gone, queues, processes, endpoints, customers }: Known): AttentionItem[] {
  const silent = silentText(
    endpoints.gone.filter((service) => !isBusGone(gone) && !gone.includes(service)),
    'endpoints',
  );
  const onlyEndpoints: AttentionItem[] = silent
    ? [{ kind: 'gone', key: 'gone endpoints', service: deliveries.service, text: silent, runbook: silent.runbook }]
    : [];
  const disabled = new Set(customers?.endpoints.map(({ id }) => id));
  // Without the bus, endpoints and processes are stale, and the outage is the only known problem.
  const isOut = isBusGone(gone);
  const failing = (isOut ? [] : endpoints.items)
    .filter(({ id }) => !disabled.has(id))
    .map((endpoint): AttentionItem => {
      return { kind: 'failing', key: `failing ${endpoint.id}`, endpoint, runbook: runbookOf.failing };
    });
  const stuck = queueItems(queues, failing.length > 0);
  return [
    ...goneItems(gone),
    ...onlyEndpoints,
    ...blockedItems(isOut ? [] : processes),
    ...stuck.filter(({ kind }) => kind === 'late'),
    ...failing,
    ...(customers ? customerItems(customers) : []),
    ...deadItems(queues),
    ...stuck.filter(({ kind }) => kind !== 'late'),
  ];
}

/**
 * Returns everything that needs attention now, the most urgent first, one item per problem. Each source has its own error, and the items of
 * the others stay valid. `failing` can load more endpoints. `checkedAt` is the time in milliseconds of the oldest response among the
 * sources.
 */
export function useAttention() {
  const queues = useQueues();
  const queuesError = useLastError('queues', queues);
  const processes = useProcesses(processPollMs);
  const processesError = useLastError('processes', processes);
  const failing = useList('GET /admin/endpoints', { query: { failing: true } });
  const customers = useResource('GET /admin/attention', {}, customersPollMs);
  const { data = [], gone = [] } = queues.data ?? {};
  return {
    items: itemsOf({
      gone,
      queues: data,
      processes: processes.data?.data ?? [],
      endpoints: failing,
      customers: customers.data,
    }),
    queues: { isLoaded: queues.data !== undefined, error: queuesError },
    processes: { isLoaded: processes.data !== undefined, error: processesError },
    customers: { isLoaded: customers.data !== undefined, error: customers.error },
    failing,
    checkedAt: Math.min(queues.dataUpdatedAt, processes.dataUpdatedAt, failing.loadedAt, customers.loadedAt),
  };
}
