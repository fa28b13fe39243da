import { ApiError } from '@customer-platform/contracts/core';
import { Bus, type Logger } from '@customer-platform/service-kit';
import { openUpstreams, type Upstreams } from '../proxy/upstreams.ts';
import type { GatewayConfig } from '../settings.ts';
import { type CellSettings, mainCell } from './read-cells.ts';

/** A cell: services with their databases, and the bus between them. Each account lives in one. */
export interface Cell extends Upstreams {
  name: string;
  bus: Bus;
}

/** The cell whose services ask something of the gateway. */
export interface AskedIn {
  cell: string;
}

/** The cells of this installation; the first is `main`. What happens to one concerns its own accounts alone. */
export class Cells {
  readonly all: readonly Cell[];
  readonly #byName: ReadonlyMap<string, Cell>;

  private constructor(all: readonly Cell[]) {
    this.all = all;
    this.#byName = new Map(all.map((cell) => [cell.name, cell]));
  }

  /** Opens the cells; that of the gateway's own settings has `bus`. Waits for no cell. */
  static async open(
    settings: readonly CellSettings[],
    { config, bus, log }: { config: GatewayConfig; bus: Bus; log: Logger },
  ): Promise<Cells> {
    const open = async ({ name, serviceUrls, nats }: CellSettings): Promise<Cell> => {
      const cellLog = settings.length > 1 ? log.child({ cell: name }) : log;
      const upstreams = openUpstreams(serviceUrls, config, cellLog);
      if (name === mainCell) return { name, bus, ...upstreams };
      const ownBus = await Bus.connect(nats.NATS_URL, {
        prefix: config.BUS_PREFIX,
        service: 'gateway',
        log: cellLog,
        requestTimeoutMs: config.BUS_REQUEST_TIMEOUT_MS,
        files: nats,
        stream: config,
      });
      return { name, bus: ownBus, ...upstreams };
    };
    return new Cells(await Promise.all(settings.map(open)));
  }

  get main(): Cell {
    return this.all[0]!;
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

  /** Ends the connections to services. */
  closeUpstreams(): void {
    for (const cell of this.all) cell.close();
  }

  /** Closes the buses of all cells but that of the gateway's own settings. */
  async closeBuses(): Promise<void> {
    await Promise.all(this.all.slice(1).map(({ bus }) => bus.close()));
  }
}
