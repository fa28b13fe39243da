import type { ServiceName } from '@customer-platform/contracts/core';
import type { Logger } from '@customer-platform/service-kit';
import type { GatewayConfig } from '../settings.ts';
import type { Upstream } from '../upstream.ts';
import { forwarder } from './forward.ts';

/** Upstreams of this gateway. */
export interface Upstreams {
  /** Of each service that the settings name. */
  services: ReadonlyMap<ServiceName, Upstream>;
  /** Of calls of hooks, which wait briefly: their providers retry. Undefined where no messaging is set up. */
  hooks: Upstream | undefined;
  /** Ends the connections that are kept. */
  close(): void;
}

/** Returns the upstreams that the settings name. */
export function openUpstreams(config: GatewayConfig, log: Logger): Upstreams {
  const urls: { [Name in ServiceName]?: string | undefined } = {
    calendar: config.CALENDAR_URL,
    agents: config.AGENTS_URL,
    cdp: config.CDP_URL,
    catalogue: config.CATALOGUE_URL,
    crm: config.CRM_URL,
    messaging: config.MESSAGING_URL,
    webhooks: config.WEBHOOKS_URL,
  };
  const holdMs = config.SERVICE_HOLD_SECONDS * 1_000;
  const bounds = { sockets: config.SERVICE_SOCKETS, holdMs };
  const named = Object.entries(urls) as [ServiceName, string | undefined][];
  const services = new Map(
    named.flatMap(([name, url]) => (url ? [[name, forwarder(url, name, log, bounds)] as const] : [])),
  );
  const hookBounds = { sockets: config.HOOK_SOCKETS, waiting: 256, waitMs: 5_000, holdMs };
  const hooks = urls.messaging ? forwarder(urls.messaging, 'messaging', log, hookBounds) : undefined;
  return {
    services,
    hooks,
    close() {
      for (const upstream of services.values()) upstream.close();
      hooks?.close();
    },
  };
}
