import type { ServiceName } from '@customer-platform/contracts/core';
import { type Foundation, meter, Reporter } from '@customer-platform/service-kit';
import type { GatewayConfig } from '../settings.ts';
import { selectAdvancing } from './clock.sql.ts';
import { ClockRunner } from './clock-runner.ts';
import { ClockedServices } from './clocked-services.ts';
import { clockServer } from './serve-clock.ts';

/** Starts to move the clocks of sandbox accounts, and returns the handler of their operations. `names` are the services that have an address. */
export function openSandboxClocks(foundation: Foundation<GatewayConfig>, names: readonly ServiceName[]) {
  const { bus, clocks, clockWork } = foundation;
  const runner = new ClockRunner({ ...foundation, services: new ClockedServices(bus, clockWork, names) });
  const stopReport = reportClocks(foundation);
  return {
    serve: clockServer(foundation, { clocks, runner }),
    async stop() {
      await stopReport();
      await runner.stop();
    },
  };
}

const gauges = {
  'gateway.clocks.advancing': { description: 'Clocks of sandbox accounts that are on their way.' },
  'gateway.clocks.advancing_longest': {
    unit: 's',
    description: 'Time for which the first of them has been on its way; 0 where none is.',
  },
};

/** Observes the clocks that are on their way, once for all gateways; returns what ends it. */
function reportClocks({ sql }: Pick<Foundation, 'sql'>): () => Promise<void> {
  const reporter = new Reporter(sql, 'clocks');
  const stopGauges = meter.observe(gauges, async (observe) => {
    if (!(await reporter.isChosen())) return;
    const { count, longestSeconds } = await selectAdvancing(sql);
    observe('gateway.clocks.advancing', count);
    observe('gateway.clocks.advancing_longest', longestSeconds);
  });
  return async () => {
    stopGauges();
    await reporter.release();
  };
}
