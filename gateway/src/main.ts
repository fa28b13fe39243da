import { existsSync } from 'node:fs';
import { operations } from '@customer-platform/contracts';
import type * as contract from '@customer-platform/contracts/accounts';
import type { ServiceName } from '@customer-platform/contracts/core';
import {
  type Foundation,
  handleRequests,
  healthServer,
  type RepliesTo,
  type Running,
  readConfig,
  runProcess,
  startFoundation,
  startJob,
} from '@customer-platform/service-kit';
import { handleAccountContext } from './accounts/handle-account-context.ts';
import { adminOperations } from './admin-operations.ts';
import { AdminTokens } from './admin-tokens.ts';
import { type BodyBounds, BodyIntake } from './bodies/body-intake.ts';
import { ChangeFeed } from './changes/change-feed.ts';
import { clientAddressReader } from './client-address.ts';
import { openTraces } from './collector/traces.ts';
import { controlPlane } from './control-plane.ts';
import { serveDocs } from './docs/docs.ts';
import { InvalidKeyGuard } from './guard/invalid-key-guard.ts';
import { HookDoor } from './hooks/hook-door.ts';
import { forgetOldChanges, saveKeyUses } from './jobs.ts';
import { KeyCache } from './keys/key-cache.ts';
import { UseLog } from './keys/use-log.ts';
import { handleMember } from './members/handle-member.ts';
import { Services } from './operators/services.ts';
import { forwarder } from './proxy/forward.ts';
import { listenWithEnvelopes } from './proxy/listener.ts';
import { publicHandler } from './proxy/public-handler.ts';
import { RouteTable } from './proxy/route-table.ts';
import { LiveGateways } from './rate/live-gateways.ts';
import { RateLimiter } from './rate/rate-limiter.ts';
import { openRedis } from './rate/redis.ts';
import { type GatewayConfig, gatewayConfig } from './settings.ts';
import type { Upstream } from './upstream.ts';

/** Replies to other services. */
const requests: RepliesTo<typeof contract> = { getAccountContext: handleAccountContext, getMember: handleMember };

const migrations = new URL('../migrations/', import.meta.url);

/** Starts both listeners. Throws if settings are invalid or the database cannot be migrated. */
export async function startGateway(
  env: NodeJS.ProcessEnv,
  options: { clock?: () => Date } = {},
): Promise<Running & { adminUrl: string }> {
  const config = readConfig(gatewayConfig, env);
  const tokens = new AdminTokens(config);
  const clock = options.clock ?? (() => new Date());
  const { foundation, stop } = await startFoundation('gateway', config, migrations, clock);
  const { sql, bus, log, eventsCommitted } = foundation;
  const redis = openRedis(config.REDIS_URL, config.REDIS_PREFIX, config.REDIS_TIMEOUT_MS);
  redis.on('error', (error) => log.debug({ err: error }, 'Redis'));
  const changes = new ChangeFeed(sql, bus, log);
  const keys = new KeyCache(sql, changes, config.CONTEXT_SECRET);
  const uses = new UseLog();
  const guard = new InvalidKeyGuard(redis, bus, log, clock);
  const gateways = new LiveGateways(bus);
  const limiter = new RateLimiter(redis, gateways, log);
  await changes.start((accountIds) => keys.forget(accountIds));
  const work = { ...foundation, resources: undefined };
  handleRequests(bus, Object.values(requests), work);
  const jobs = [saveKeyUses(uses), forgetOldChanges].map((job) => startJob(job, work));
  // Ready means taking requests: without the database all gateways respond alike, better than a balancer without any.
  let isStopping = false;
  const isReady = () => !isStopping;
  const addressOf = clientAddressReader(config.TRUSTED_PROXIES);
  const traces = openTraces(config, { log, addressOf });
  const resources = { changes, guard, bus, eventsCommitted, services: new Services(bus), traces };
  const serveHealth = healthServer(foundation.health, isReady);
  const adminApp = controlPlane(foundation, Object.values(adminOperations), resources, {
    serveHealth,
    addressOf,
    tokens,
  });
  const admin = await listenWithEnvelopes(adminApp, config.ADMIN_PORT, config.ADMIN_HOST);
  const services = servicesOf(config, foundation);
  const bodies = new BodyIntake(bodyBounds(config), log);
  const hookUpstream = hookUpstreamOf(config, foundation);
  const hooks = hookUpstream && new HookDoor(hookUpstream, bodies, config);
  const handler = publicHandler({
    log,
    keys,
    uses,
    guard,
    limiter,
    clock,
    routes: new RouteTable(operations),
    services,
    bodies,
    hooks,
    addressOf,
    serveHealth: healthServer(foundation.health, () => isReady() && isThere(config.READY_FILE)),
    serveDocs,
  });
  const publicListener = await listenWithEnvelopes(handler, config.GATEWAY_PORT, config.GATEWAY_HOST, 'watched');
  log.info({ url: publicListener.url, admin_url: admin.url }, 'listening');
  return {
    url: publicListener.url,
    adminUrl: admin.url,
    async stop() {
      isStopping = true;
      const drainMs = config.DRAIN_SECONDS * 1_000;
      await Promise.all([publicListener.close(drainMs), admin.close(drainMs)]);
      gateways.stop();
      await Promise.all([changes.stop(), ...jobs.map((job) => job.stop())]);
      await uses
        .save(sql)
        .catch((error: unknown) => log.warn({ err: error }, 'the last uses of keys could not be written'));
      redis.disconnect();
      bodies.stop();
      for (const upstream of services.values()) upstream.close();
      hookUpstream?.close();
      await stop();
    },
  };
}

/** Returns the upstream of calls to hooks, which wait briefly: their providers retry. */
function hookUpstreamOf({ MESSAGING_URL, HOOK_SOCKETS }: GatewayConfig, { log }: Foundation): Upstream | undefined {
  const bounds = { sockets: HOOK_SOCKETS, waiting: 256, waitMs: 5_000 };
  return MESSAGING_URL ? forwarder(MESSAGING_URL, 'messaging', log, bounds) : undefined;
}

/** Returns whether a file is there, or none is asked for. */
function isThere(file: string | undefined): boolean {
  return file === undefined || existsSync(file);
}

/** Returns the upstream of each service that the settings name. */
function servicesOf(config: GatewayConfig, { log }: Foundation): Map<ServiceName, Upstream> {
  const urls: { [Name in ServiceName]?: string | undefined } = {
    calendar: config.CALENDAR_URL,
    agents: config.AGENTS_URL,
    cdp: config.CDP_URL,
    catalogue: config.CATALOGUE_URL,
    crm: config.CRM_URL,
    messaging: config.MESSAGING_URL,
    webhooks: config.WEBHOOKS_URL,
  };
  const bounds = { sockets: config.SERVICE_SOCKETS };
  const named = Object.entries(urls) as [ServiceName, string | undefined][];
  return new Map(named.flatMap(([name, url]) => (url ? [[name, forwarder(url, name, log, bounds)] as const] : [])));
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
