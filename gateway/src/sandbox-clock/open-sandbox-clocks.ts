import type { ServiceName } from '@customer-platform/contracts/core';
import { type Foundation, WorkQueue } from '@customer-platform/service-kit';
import type { GatewayConfig } from '../settings.ts';
import { clockAdvances } from './clock-advances.ts';
import { ClockedServices } from './clocked-services.ts';
import { clockServer } from './serve-clock.ts';

/** Starts to move the clocks of sandbox accounts, and returns the handler of their operations. `names` are the services that have an address. */
export function openSandboxClocks(foundation: Foundation<GatewayConfig>, names: readonly ServiceName[]) {
  const { sql, bus, clocks, clockWork } = foundation;
  const services = new ClockedServices(bus, clockWork, names);
  const queue = new WorkQueue(foundation, clockAdvances({ sql, clocks, services }));
  return { serve: clockServer(foundation, { clocks, queue }), stop: () => queue.stop() };
}
