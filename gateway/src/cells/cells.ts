import { ApiError } from '@customer-platform/contracts/core';
import { type Bus, type Foundation, openBus } from '@customer-platform/service-kit';
import type { GatewayConfig } from '../settings.ts';
import { type CellSettings, mainCell } from './read-cells.ts';

/** A cell as the gateway talks to it: services with their databases, and the bus between them. Each account lives in one. */
export interface Cell {
  name: string;
  bus: Bus;
}

/** The cell whose services ask something of the gateway. */
export interface AskedIn {
  cell: string;
}

/** The cells of this installation; the first is `main`. Faults of one concern its own accounts alone. */
export class Cells {
  readonly all: readonly Cell[];
  readonly #byName: ReadonlyMap<string, Cell>;

  private constructor(all: readonly Cell[]) {
    this.all = all;
    this.#byName = new Map(all.map((cell) => [cell.name, cell]));
  }

  /** Connects to the cells' buses; that of the gateway's own settings has `bus`. Waits 2 s for none that is gone. */
  static async open(
    settings: readonly CellSettings[],
    { config, bus, log, clocks }: Pick<Foundation<GatewayConfig>, 'config' | 'bus' | 'log' | 'clocks'>,
  ): Promise<Cells> {
    const open = async ({ name, nats }: CellSettings): Promise<Cell> => {
      if (name === mainCell) return { name, bus };
      const ownBus = await openBus('gateway', config, { log: log.child({ cell: name }), clocks }, nats);
      return { name, bus: ownBus };
    };
    return new Cells(await Promise.all(settings.map(open)));
  }

  get main(): Cell {
    return this.all[0]!;
  }

  get buses(): Bus[] {
    return this.all.map(({ bus }) => bus);
  }

  get isSingle(): boolean {
    return this.all.length === 1;
  }

  /** Returns the cell of this name; undefined where the settings have none. */
  get(name: string): Cell | undefined {
    return this.#byName.get(name);
  }

  /** Returns the cell that a request names. Throws 400 with field cell, and the cells that there are. */
  named(name: string): Cell {
    const cell = this.get(name);
    if (cell) return cell;
    const names = this.all.map((each) => each.name).join(', ');
    throw new ApiError('invalid_request', `cell must be one of ${names}, not ${name}`, { field: 'cell' });
  }

  /** Returns something of a cell as responses show it: with its cell only where there are several. */
  shown<Row extends { cell: string }>({ cell, ...row }: Row): Omit<Row, 'cell'> & { cell?: string } {
    return { ...row, ...(!this.isSingle && { cell }) };
  }

  /** Closes the buses of all cells but that of the gateway's own settings. */
  async close(): Promise<void> {
    await Promise.all(this.all.slice(1).map(({ bus }) => bus.close()));
  }
}
