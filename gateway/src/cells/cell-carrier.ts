import { type EventCarrier, onceAtATime, serviceUnavailable } from '@customer-platform/service-kit';
import type { Cells } from './cells.ts';

/**
 * Returns what carries the gateway's events: each to the bus of the cell that its account lives in. `findCell` returns the cell of an account: a
 * gateway that has not been told of that cell yet leaves its events to those that have.
 */
export function cellCarrier(
  cells: Pick<Cells, 'all' | 'main' | 'get'>,
  findCell: (accountId: string) => Promise<string | undefined>,
): EventCarrier {
  const { bus, name: main } = cells.main;
  // Of two look-ups for events of one account the later one's could end first, and it would be published first.
  const find = onceAtATime(findCell);
  return {
    isConnected: () => bus.isConnected(),
    ready: () => bus.ready(),
    server: () => bus.server(),
    onBack(back) {
      for (const cell of cells.all) cell.bus.onBack(back);
    },
    subjectOf: (event) => bus.subjectOf(event),
    async publish(event) {
      const name = (await find(event.account_id)) ?? main;
      const cell = cells.get(name);
      if (!cell) throw serviceUnavailable(`the cell ${name} is not among those of CELLS`);
      await cell.bus.publish(event);
    },
  };
}
