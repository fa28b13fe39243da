import { type EventCarrier, LRUCache, serviceUnavailable } from '@customer-platform/service-kit';
import type { Cells } from './cells.ts';

const maxKnown = 10_000;

/**
 * Carries the gateway's events to the bus of the cell that their account lives in. What cannot be published because a cell's bus is
 * unavailable waits, and nothing behind it; `findCell` returns the cell of an account.
 */
export function cellCarrier(cells: Cells, findCell: (accountId: string) => Promise<string | undefined>): EventCarrier {
  if (cells.isSingle) return cells.main.bus;
  // An account never moves.
  const known = new LRUCache<string, string>({ max: maxKnown });
  const cellOf = async (accountId: string): Promise<string> => {
    const name = known.get(accountId) ?? (await findCell(accountId)) ?? cells.main.name;
    known.set(accountId, name);
    return name;
  };
  return {
    isConnected: () => cells.all.some(({ bus }) => bus.isConnected()),
    subjectOf: (event) => cells.main.bus.subjectOf(event),
    async publish(event) {
      const name = await cellOf(event.account_id);
      const cell = cells.get(name);
      if (!cell) throw serviceUnavailable(`the cell ${name} is not among those of CELLS`);
      await cell.bus.publish(event);
    },
  };
}
