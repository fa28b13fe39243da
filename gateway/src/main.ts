import { existsSync } from 'node:fs';
import { operations } from '@customer-platform/contracts';
import type * as contract from '@customer-platform/contracts/accounts';
import type { ServiceName } from '@customer-platform/contracts/core';
import {
  type Foundation,
  handleRequests,
  healthServer,
  type Implements,
  type RepliesTo,
  type Running,
  readConfig,
  runProcess,
  startFoundation,
  startJob,
} from '@customer-platform/service-kit';
import { createAccount } from './accounts/create-account.ts';
import { getAccount } from './accounts/get-account.ts';
import { handleAccountContext } from './accounts/handle-account-context.ts';
import { listAccounts } from './accounts/list-accounts.ts';
import { updateAccount } from './accounts/update-account.ts';
import type { AdminResources } from './admin-operation.ts';
import { AdminTokens } from './admin-tokens.ts';
import { listAudit } from './audit/list-audit.ts';
import { type BodyBounds, BodyIntake } from './bodies/body-intake.ts';
import { ChangeFeed } from './changes/change-feed.ts';
import { clientAddressReader } from './client-address.ts';
import { controlPlane } from './control-plane.ts';
import { dropDeadEvent } from './dead/drop-dead-event.ts';
import { getDeadEvent } from './dead/get-dead-event.ts';
import { listDeadEvents } from './dead/list-dead-events.ts';
import { requeueDeadEvent } from './dead/requeue-dead-event.ts';
import { requeueDeadEvents } from './dead/requeue-dead-events.ts';
import { serveDocs } from './docs/docs.ts';
import { listEndpoints } from './endpoints/list-endpoints.ts';
import { republishEvents } from './events/republish-events.ts';
import { InvalidKeyGuard } from './guard/invalid-key-guard.ts';
import { HookDoor } from './hooks/hook-door.ts';
import { forgetOldChanges, saveKeyUses } from './jobs.ts';
import { createKey } from './keys/create-key.ts';
import { KeyCache } from './keys/key-cache.ts';
import { listAddresses } from './keys/list-addresses.ts';
import { listKeys } from './keys/list-keys.ts';
import { revokeKey } from './keys/revoke-key.ts';
import { rotateKey } from './keys/rotate-key.ts';
import { unblockAddress } from './keys/unblock-address.ts';
import { UseLog } from './keys/use-log.ts';
import { addMember } from './members/add-member.ts';
import { handleMember } from './members/handle-member.ts';
import { listMembers } from './members/list-members.ts';
import { removeMember } from './members/remove-member.ts';
import { Services } from './operators/services.ts';
import { forwarder } from './proxy/forward.ts';
import { listenWithEnvelopes } from './proxy/listener.ts';
import { publicHandler } from './proxy/public-handler.ts';
import { RouteTable } from './proxy/route-table.ts';
import { getQueue } from './queues/get-queue.ts';
import { listQueues } from './queues/list-queues.ts';
import { pauseQueue } from './queues/pause-queue.ts';
import { resumeQueue } from './queues/resume-queue.ts';
import { retryQueue } from './queues/retry-queue.ts';
import { LiveGateways } from './rate/live-gateways.ts';
import { RateLimiter } from './rate/rate-limiter.ts';
import { openRedis } from './rate/redis.ts';
import { listServices } from './services/list-services.ts';
import { type GatewayConfig, gatewayConfig } from './settings.ts';
import type { Upstream } from './upstream.ts';

/** The control plane's operations. */
const adminOperations: Implements<typeof contract.adminOperations, AdminResources> = {
  createAccount,
  listAccounts,
  getAccount,
  updateAccount,
  createKey,
  listKeys,
  rotateKey,
  revokeKey,
  republishEvents,
  addMember,
  listMembers,
  removeMember,
  listAddresses,
  unblockAddress,
  listQueues,
  getQueue,
  pauseQueue,
  resumeQueue,
  retryQueue,
  listDeadEvents,
  getDeadEvent,
  requeueDeadEvent,
  requeueDeadEvents,
  dropDeadEvent,
  listEndpoints,
  listServices,
  listAudit,
};

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
  const resources = { changes, guard, bus, eventsCommitted, services: new Services(bus) };
  const adminApp = controlPlane(foundation, Object.values(adminOperations), resources, {
    serveHealth: healthServer(foundation.health, isReady),
    addressOf,
    tokens,
  });
  const admin = await listenWithEnvelopes(adminApp, config.ADMIN_PORT, config.ADMIN_HOST);
  const services = servicesOf(config, foundation);
  const bodies = new BodyIntake(bodyBounds(config), log);
  // Hook calls wait briefly: their providers retry.
  const hookUpstreamBounds = { sockets: config.HOOK_SOCKETS, waiting: 256, waitMs: 5_000 };
  const hookUpstream = config.MESSAGING_URL
    ? forwarder(config.MESSAGING_URL, 'messaging', log, hookUpstreamBounds)
    : undefined;
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
