import { type Foundation, meter, Reporter } from '@customer-platform/service-kit';
import { selectAdvancing } from './clock.sql.ts';

const gauges = {
  'gateway.clocks.advancing': { description: 'Clocks of sandbox accounts that are on their way.' },
  'gateway.clocks.advancing_longest': {
    unit: 's',
    description: 'Time for which the first of them has been on its way; 0 where none is.',
  },
};

/** Observes the clocks that are on their way, once for all gateways; returns what ends it. */
export function reportClocks({ sql }: Pick<Foundation, 'sql'>): () => Promise<void> {
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
