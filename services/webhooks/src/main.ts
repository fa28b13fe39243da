import { runProcess, type ServiceDefinition, startService } from '@customer-platform/service-kit';
import { answerFindDeliveries } from './deliveries/answer-find-deliveries.ts';
import { getDelivery } from './deliveries/get-delivery.ts';
import { getReplay } from './deliveries/get-replay.ts';
import { listDeliveries } from './deliveries/list-deliveries.ts';
import { redeliver } from './deliveries/redeliver.ts';
import { replayDeliveries } from './deliveries/replay-deliveries.ts';
import { runReplays } from './deliveries/run-replays.ts';
import { announceDisabled } from './endpoints/announce-disabled.ts';
import { createEndpoint } from './endpoints/create-endpoint.ts';
import { deleteEndpoint } from './endpoints/delete-endpoint.ts';
import { getEndpoint } from './endpoints/get-endpoint.ts';
import { listEndpoints } from './endpoints/list-endpoints.ts';
import { rotateEndpointSecret } from './endpoints/rotate-endpoint-secret.ts';
import { testEndpoint } from './endpoints/test-endpoint.ts';
import { updateEndpoint } from './endpoints/update-endpoint.ts';
import { forgetOldEvents } from './events/forget-old-events.ts';
import { getEvent } from './events/get-event.ts';
import { listEventKinds } from './events/list-event-kinds.ts';
import { listEvents } from './events/list-events.ts';
import { onPublicEvent } from './events/on-public-event.ts';
import { makeResources, type WebhookResources, webhooksConfig } from './resources.ts';

/** Webhooks: tells endpoints outside of every public event, at least once, until it is delivered or given up with a reason. */
export const webhooks: ServiceDefinition<typeof webhooksConfig, WebhookResources> = {
  name: 'webhooks',
  config: webhooksConfig,
  migrations: new URL('../migrations/', import.meta.url),
  operations: [
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
    getEvent,
  ],
  requests: [answerFindDeliveries],
  consumers: [onPublicEvent],
  jobs: [announceDisabled, runReplays, forgetOldEvents],
  resources: makeResources,
};

if (import.meta.main) await runProcess(() => startService(webhooks, process.env));
