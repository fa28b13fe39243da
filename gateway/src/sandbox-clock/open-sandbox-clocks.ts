import type { ServiceName } from '@customer-platform/contracts/core';
import type { Foundation } from '@customer-platform/service-kit';
import type { Cells } from '../cells/cells.ts';
import type { GatewayConfig } from '../settings.ts';
import { CellServices } from './cell-services.ts';
import { ClockRunner } from './clock-runner.ts';
import { reportClocks } from './report-clocks.ts';
import { clockServer } from './serve-clock.ts';

/** The services that have an address in each cell. */
type ServicesByCell = ReadonlyMap<string, { services: ReadonlyMap<ServiceName, unknown> }>;

/** Starts to move the clocks of sandbox accounts, and returns the handler of their operations. */
export function openSandboxClocks(foundation: Foundation<GatewayConfig>, cells: Cells, upstreams: ServicesByCell) {
  const services = new CellServices(
    cells,
    (cell) => [...(upstreams.get(cell)?.services.keys() ?? [])],
    (accountId, position) => foundation.clockWork.look(accountId, position),
  );
  const names = cells.all.map(({ name }) => name);
  const runner = new ClockRunner({ ...foundation, services, cells: names });
  const stopReport = reportClocks(foundation);
  return {
    serve: clockServer(foundation, { clocks: foundation.clocks, runner }),
    async stop() {
      await stopReport();
      await runner.stop();
    },
  };
}
