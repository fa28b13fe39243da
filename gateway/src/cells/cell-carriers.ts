import {
  type EventCarrier,
  type OutboxPart,
  onceAtATime,
  type Sql,
  serviceUnavailable,
} from '@customer-platform/service-kit';
import type { Cell, Cells } from './cells.ts';

type FindCell = (accountId: string) => Promise<string | undefined>;

/**
 * Returns what carries the gateway's events: each to the bus of the cell that its account lives in. Each cell has its own, so that one whose
 * bus is gone, or takes connections and never responds, delays its own accounts' events alone. `findCell` returns the cell of an account: a gateway
 * that has not been told of that cell yet leaves its events to those that have.
 */
export function cellCarriers(cells: Cells, findCell: FindCell): EventCarrier[] {
  const others = cells.all.slice(1);
  // Of two look-ups for events of one account the later one's could end first, and it would be published first.
  const find = onceAtATime(findCell);
  return [
    { ...carrierTo(cells.main, restOf(others)), publish: (event) => publishInMain(cells, find, event) },
    ...others.map((cell) => carrierTo(cell, partOf(cell))),
  ];
}

function carrierTo({ bus }: Cell, part: OutboxPart): EventCarrier {
  return {
    part,
    isConnected: () => bus.isConnected(),
    ready: () => bus.ready(),
    server: () => bus.server(),
    onBack: (back) => bus.onBack(back),
    subjectOf: (event) => bus.subjectOf(event),
    publish: (event) => bus.publish(event),
  };
}

function partOf({ name }: Cell): OutboxPart {
  return { name, where: (sql) => sql`${cellOfRow(sql)} = ${name}` };
}

/** The part of `main`: also what no cell of the settings has, so that it is said to wait. */
function restOf(others: readonly Cell[]): OutboxPart {
  const names = others.map(({ name }) => name);
  return { name: 'main', where: (sql) => sql`coalesce(${cellOfRow(sql)}, 'main') <> all(${names}::text[])` };
}

/** The cell of an outbox row's account: looked up row by row, since a join could read all accounts for a few events. */
function cellOfRow(sql: Sql): ReturnType<Sql> {
  return sql`(select cell from accounts where accounts.account_id = outbox.account_id)`;
}

async function publishInMain(
  cells: Cells,
  findCell: FindCell,
  event: Parameters<EventCarrier['publish']>[0],
): Promise<void> {
  const name = (await findCell(event.account_id)) ?? cells.main.name;
  if (!cells.get(name)) throw serviceUnavailable(`the cell ${name} is not among those of CELLS`);
  await cells.main.bus.publish(event);
}
