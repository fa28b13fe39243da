import { existsSync } from 'node:fs';
import {
  drained,
  handleRequests,
  healthServer,
  type Running,
  readConfig,
  runProcess,
  startFoundation,
  startJob,
} from '@customer-platform/service-kit';
import { internalRequests } from './accounts/internal-requests.ts';
import { type BodyBounds, BodyIntake } from './bodies/body-intake.ts';
import { ChangeFeed } from './changes/change-feed.ts';
import { openTraces } from './collector/traces.ts';
import { adminOperations } from './control-plane/admin-operations.ts';
import { AdminTokens } from './control-plane/admin-tokens.ts';
import { controlPlane } from './control-plane/control-plane.ts';
import { QueueHistory } from './control-plane/queue-history.ts';
import { readQueues } from './control-plane/queues/queue-shape.ts';
import { Services } from './control-plane/services.ts';
import { CurrentApiDocument } from './docs/api-document.ts';
import { docsServer } from './docs/docs.ts';
import { openUpstreams } from './forward/upstreams.ts';
import { listenWithEnvelopes } from './http/listener.ts';
import { clientAddressReader } from './http/request-head.ts';
import { forgetOldChanges, forgetOldTraffic, saveKeyUses, saveTraffic } from './jobs.ts';
import { RequestShares } from './limits/request-shares.ts';
import { openAdmission } from './public/admission.ts';
import { InboundWebhooks } from './public/inbound-webhooks.ts';
import { publicHandler } from './public/public-handler.ts';
import { StreamRoutes } from './public/stream-routes.ts';
import { AnnouncedOperations } from './routes/announced-operations.ts';
import { openOwnOperations } from './self-service/serve-own.ts';
import { type GatewayConfig, gatewayConfig } from './settings.ts';
import { TrafficCounter } from './traffic/traffic-counter.ts';

const migrations = new URL('../migrations/', import.meta.url);

/** Starts both listeners. Throws if settings are invalid or the database cannot be migrated. */
export async function startGateway(
  env: NodeJS.ProcessEnv,
  options: { clock?: () => Date } = {},
): Promise<Running & { adminUrl: string }> {
  const config = readConfig(gatewayConfig, env);
  const tokens = new AdminTokens(config);
  const clock = options.clock ?? (() => new Date());
  const { foundation, stop } = await startFoundation('gateway', config, { migrations, clock });
  const { sql, bus, log, eventsCommitted } = foundation;
  const changes = new ChangeFeed(sql, bus, log);
  const admission = openAdmission(foundation, changes);
  const { keys, uses, invalidKeys, slots } = admission;
  const streams = new StreamRoutes({ slots, keys, changes, clock, log });
  await changes.start((accountIds) => streams.forgetKeys(accountIds));
  const work = { ...foundation, resources: undefined };
  handleRequests(bus, Object.values(internalRequests), work);
  const traffic = new TrafficCounter(clock);
  const jobs = [saveKeyUses(uses), forgetOldChanges, saveTraffic(traffic), forgetOldTraffic].map((job) =>
    startJob(job, work),
  );
  // Ready means accepting requests. Without the database all gateways respond alike, which is better than none behind the load balancer.
  let isStopping = false;
  const addressOf = clientAddressReader(config.TRUSTED_PROXIES);
  const traces = openTraces(config, { log, addressOf });
  const routes = new AnnouncedOperations(foundation);
  await routes.start();
  const operated = new Services(bus);
  const queueHistory = new QueueHistory((now) => readQueues(operated, now), clock);
  queueHistory.start(log);
  const resources = { changes, invalidKeys, bus, eventsCommitted, services: operated, routes, queueHistory, traces };
  const parts = { serveHealth: healthServer(foundation.health, () => !isStopping), addressOf, tokens };
  const adminApp = controlPlane(foundation, Object.values(adminOperations), resources, parts);
  const admin = await listenWithEnvelopes(adminApp, { port: config.ADMIN_PORT, host: config.ADMIN_HOST, log });
  const upstreams = openUpstreams(config, log);
  const own = openOwnOperations(foundation, changes, [...upstreams.services.keys()]);
  const isReady = () => !isStopping && (!config.READY_FILE || existsSync(config.READY_FILE));
  const bounds = bodyBounds(config);
  const bodies = new BodyIntake(bounds, log);
  const handler = publicHandler({
    ...admission,
    log,
    routes,
    upstreams,
    shares: new RequestShares(),
    bodies,
    streams,
    traffic,
    hooks: upstreams.hooks && new InboundWebhooks(upstreams.hooks, bodies, config),
    addressOf,
    serveHealth: healthServer(foundation.health, isReady),
    serveOwn: own.serve,
    serveDocs: docsServer({ api: new CurrentApiDocument(routes), log, keyFile: config.DOCS_KEY_FILE }),
  });
  const { GATEWAY_PORT: port, GATEWAY_HOST: host } = config;
  const publicListener = await listenWithEnvelopes(handler, { port, host, log, bodyWindowMs: bounds.windowMs });
  log.info({ url: publicListener.url, admin_url: admin.url }, 'listening');
  return {
    url: publicListener.url,
    adminUrl: admin.url,
    async stop() {
      isStopping = true;
      await drained([publicListener, admin, streams], config);
      await Promise.all([changes, queueHistory, own, ...jobs].map((running) => running.stop()));
      await admission.stop();
      upstreams.close();
      await traces.thread?.stop();
      await stop();
    },
  };
}

function bodyBounds(config: GatewayConfig): BodyBounds {
  return {
    memoryBytes: config.BODY_MEMORY_MIB * 1_048_576,
    windowMs: config.BODY_WINDOW_SECONDS * 1_000,
    bytesPerSecond: config.BODY_BYTES_PER_SECOND,
    files: config.UPLOAD_FILES,
    directory: config.UPLOAD_DIRECTORY,
  };
}

export { gatewayConfig } from './settings.ts';

if (import.meta.main) await runProcess(() => startGateway(process.env));
