import type { ServerResponse } from 'node:http';
import type { AccountContext } from '@customer-platform/contracts/core';
import type * as contract from '@customer-platform/contracts/webhooks';
import { deliveryStatus } from '@customer-platform/contracts/webhooks';
import { createNameResolver, createPoster, type TargetGuard } from '@customer-platform/outbound';
import { type Foundation, meter, Reporter, type ServiceDefinition } from '@customer-platform/service-kit';
import { type WebhooksConfig, webhooksConfig } from './config.ts';
import { forgetOldReplays } from './deliveries/forget-old-replays.ts';
import { getDelivery } from './deliveries/get-delivery.ts';
import { getReplay } from './deliveries/get-replay.ts';
import { handleFindAnyEndpoint } from './deliveries/handle-find-any-endpoint.ts';
import { handleFindDeliveries } from './deliveries/handle-find-deliveries.ts';
import { handleReplayAnyEndpoint } from './deliveries/handle-replay-any-endpoint.ts';
import { listDeliveries } from './deliveries/list-deliveries.ts';
import { redeliver } from './deliveries/redeliver.ts';
import { replayDeliveries } from './deliveries/replay-deliveries.ts';
import { runReplays } from './deliveries/run-replays.ts';
import { countFailingEndpoints } from './endpoints/all-endpoints.sql.ts';
import { announceDisabled } from './endpoints/announce-disabled.ts';
import { createEndpoint } from './endpoints/create-endpoint.ts';
import { deleteEndpoint } from './endpoints/delete-endpoint.ts';
import { getEndpoint } from './endpoints/get-endpoint.ts';
import { handleEnableAnyEndpoint } from './endpoints/handle-enable-any-endpoint.ts';
import { handleListAllEndpoints } from './endpoints/handle-list-all-endpoints.ts';
import { listEndpoints } from './endpoints/list-endpoints.ts';
import { rotateEndpointSecret } from './endpoints/rotate-endpoint-secret.ts';
import { updateEndpoint } from './endpoints/update-endpoint.ts';
import { countUnaccounted } from './events/events.sql.ts';
import { getEvent } from './events/get-event.ts';
import { listEventKinds } from './events/list-event-kinds.ts';
import { listEvents } from './events/list-events.ts';
import { onPublicEvent } from './events/on-public-event.ts';
import { testEndpoint } from './events/test-endpoint.ts';
import { triggerEvent } from './events/trigger-event.ts';
import type { WebhookResources } from './implement.ts';
import { partitionsOf, retentionOf } from './retention/retention.ts';
import { Dispatcher } from './sending/dispatcher.ts';
import { EventFeed } from './streaming/event-feed.ts';
import { streamEvents } from './streaming/stream-events.ts';
import { Streams } from './streaming/streams.ts';

/** Delivers every public event to customers' endpoints at least once, until it arrives or fails with a reason. */
export const webhooks: ServiceDefinition<typeof contract, typeof webhooksConfig, WebhookResources> = {
  name: 'webhooks',
  config: webhooksConfig,
  migrations: new URL('../migrations/', import.meta.url),
  partitions: (config) => partitionsOf(retentionOf(config.EVENT_RETENTION_DAYS)),
  operations: {
    createEndpoint,
    listEndpoints,
    getEndpoint,
    updateEndpoint,
    deleteEndpoint,
    rotateEndpointSecret,
    testEndpoint,
    listDeliveries,
    getDelivery,
    redeliver,
    replayDeliveries,
    getReplay,
    listEvents,
    listEventKinds,
    triggerEvent,
    streamEvents,
    getEvent,
  },
  requests: {
    findDeliveries: handleFindDeliveries,
    listAllEndpoints: handleListAllEndpoints,
    findAnyEndpoint: handleFindAnyEndpoint,
    enableAnyEndpoint: handleEnableAnyEndpoint,
    replayAnyEndpoint: handleReplayAnyEndpoint,
  },
  consumers: [onPublicEvent],
  jobs: [announceDisabled, runReplays, forgetOldReplays],
  resources: makeResources,
};

/** Topic on which this service's processes announce that newly taken events have due deliveries. */
const dueTopic = 'deliveries-due';
const balanceWindowMs = 5 * 60_000;
/** Leaves out events of the last 30 s, because the transaction that records them may still be open. */
const balanceLagMs = 30_000;

/** Starts the dispatcher and its dependencies. `stop` waits up to 5 s for attempts in flight. */
async function makeResources(foundation: Foundation<WebhooksConfig>) {
  const { config, sql, bus, log, clocks, clockWork, watch, accounts, queues, eventsCommitted } = foundation;
  const { WEBHOOKS_SECRET_KEY: secretKeys, WEBHOOKS_RETRY_SCHEDULE: schedule } = config;
  const retention = retentionOf(config.EVENT_RETENTION_DAYS);
  const guard: TargetGuard = { allowedRanges: config.WEBHOOKS_ALLOWED_RANGES, resolve: createNameResolver(5000) };
  const poster = createPoster({
    ...guard,
    timeoutMs: config.WEBHOOKS_TIMEOUT_MS,
    maxSocketsPerPool: config.WEBHOOKS_MAX_PER_ENDPOINT,
    maxSockets: config.WEBHOOKS_MAX_IN_FLIGHT * 6,
  });
  const dispatcher = new Dispatcher({
    sql,
    log,
    clocks,
    clockWork,
    watch,
    poster,
    accounts,
    queues,
    schedule,
    eventsKeptMs: retention.keptMs,
    secretKeys,
    maxPerEndpoint: config.WEBHOOKS_MAX_PER_ENDPOINT,
    maxInFlight: config.WEBHOOKS_MAX_IN_FLIGHT,
  });
  bus.onPeerNews(dueTopic, () => dispatcher.wake());
  const feed = new EventFeed({ sql, bus, log, clock: clocks.real, retention });
  const streams = new Streams(log);
  const [balance, reporter] = [new Reporter(sql, 'balance'), new Reporter(sql, 'endpoints')];
  const stopReports = [reportBalance(foundation, balance), reportFailing(foundation, reporter)];
  return {
    guard,
    secretKeys,
    schedule,
    retention,
    clocks,
    dispatcher,
    feed,
    streamAfter:
      (after: number, { account, types }: { account: AccountContext; types: readonly string[] }) =>
      (response: ServerResponse) =>
        streams.begin(response, () => feed.open({ accountId: account.id, after, types }), account.owner),
    deliveriesDue: () => (bus.isConnected() ? bus.publishNews(dueTopic) : dispatcher.wake()),
    eventsCommitted,
    endResponses: () => streams.close(),
    async stop() {
      for (const stopReport of stopReports) stopReport();
      await Promise.all([balance.release(), reporter.release()]);
      await feed.stop();
      await dispatcher.stop();
      await poster.close();
    },
  };
}

const gauges = {
  'webhooks.unaccounted': {
    description:
      'Deliveries that events of the last minutes should have and that do not exist. Above 0, something is lost.',
  },
  'webhooks.deliveries': { description: 'Deliveries of the last minutes, by state.' },
};

const failureGauges = {
  'webhooks.endpoints.failing': { description: 'Active endpoints with only failures since the last success.' },
  'webhooks.endpoints.failing_longest': {
    unit: 's',
    description: 'Time since the first failure of the longest failing active endpoint; 0 if none fails.',
  },
};

/** Reports the delivery balance from one process at a time. Returns a function that stops it. */
function reportBalance({ sql, clocks }: Foundation<WebhooksConfig>, reporter: Reporter): () => void {
  return meter.observe(gauges, async (observe) => {
    if (!(await reporter.isChosen())) return;
    const until = clocks.real().getTime() - balanceLagMs;
    const balance = await countUnaccounted(sql, new Date(until - balanceWindowMs), new Date(until));
    observe('webhooks.unaccounted', balance.unaccounted);
    for (const status of deliveryStatus.options) {
      observe('webhooks.deliveries', balance.byStatus[status] ?? 0, { status });
    }
  });
}

/** Reports failing endpoints from one process at a time. Returns a function that stops it. */
function reportFailing({ sql, clocks }: Foundation<WebhooksConfig>, reporter: Reporter): () => void {
  return meter.observe(failureGauges, async (observe) => {
    if (!(await reporter.isChosen())) return;
    const { count, since } = await countFailingEndpoints(sql);
    observe('webhooks.endpoints.failing', count);
    const longestMs = since ? Math.max(0, clocks.real().getTime() - since.getTime()) : 0;
    observe('webhooks.endpoints.failing_longest', longestMs / 1_000);
  });
}
