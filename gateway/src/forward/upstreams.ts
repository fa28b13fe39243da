import type { ServiceName } from '@customer-platform/contracts/core';
import type { Logger } from '@customer-platform/service-kit';
import type { CellSettings, ServiceUrls } from '../cells/read-cells.ts';
import type { GatewayConfig } from '../settings.ts';
import { forwarder } from './forward.ts';
import type { Upstream } from './upstream.ts';

/** Upstreams of a cell. */
export interface Upstreams {
  /** Of each service that has an address. */
  services: ReadonlyMap<ServiceName, Upstream>;
  /** Of calls of hooks, which wait briefly: their providers retry. Undefined where no messaging is set up. */
  hooks: Upstream | undefined;
  /** Ends the connections that are kept. */
  close(): void;
}

/** The upstreams of each cell, by its name. */
export type UpstreamsByCell = ReadonlyMap<string, Upstreams>;

/** Returns the upstreams of each cell. */
export function openUpstreams(cells: readonly CellSettings[], config: GatewayConfig, log: Logger): UpstreamsByCell {
  const logOf = (name: string) => (cells.length > 1 ? log.child({ cell: name }) : log);
  return new Map(cells.map(({ name, serviceUrls }) => [name, upstreamsAt(serviceUrls, config, logOf(name))]));
}

function upstreamsAt(urls: ServiceUrls, config: GatewayConfig, log: Logger): Upstreams {
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
