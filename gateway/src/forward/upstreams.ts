import { type ServiceName, serviceNames } from '@customer-platform/contracts/core';
import type { Logger } from '@customer-platform/service-kit';
import type { GatewayConfig } from '../settings.ts';
import { forwarder, type Upstream } from './forward.ts';

/** The forwarders to services. */
export interface Upstreams {
  /** By name, for each service with an address in the settings. */
  services: ReadonlyMap<ServiceName, Upstream>;
  /** For inbound webhooks, which wait briefly because providers retry. Undefined without an address of messaging. */
  hooks: Upstream | undefined;
  /** Closes idle connections. */
  close(): void;
}

/** Returns the upstreams of the services whose addresses are in the settings. */
export function openUpstreams(config: GatewayConfig, log: Logger): Upstreams {
  const holdMs = config.SERVICE_HOLD_SECONDS * 1_000;
  const bounds = { sockets: config.SERVICE_SOCKETS, holdMs };
  const services = new Map(
    serviceNames.flatMap((name) => {
      const url = name === 'gateway' ? undefined : config[`${name.toUpperCase() as Uppercase<typeof name>}_URL`];
      return url ? [[name, forwarder(url, name, log, bounds)] as const] : [];
    }),
  );
  const { MESSAGING_URL: hooksUrl } = config;
  const hookBounds = { sockets: config.HOOK_SOCKETS, waiting: 256, waitMs: 5_000, holdMs };
  const hooks = hooksUrl ? forwarder(hooksUrl, 'messaging', log, hookBounds) : undefined;
  return {
    services,
    hooks,
    close() {
      for (const upstream of services.values()) upstream.close();
      hooks?.close();
    },
  };
}
