import type { Bus } from '../bus/bus.ts';
import type { Database } from '../database/database.ts';
import type { Logger } from '../telemetry/logging.ts';
import { coalesced } from '../timing/single-flight.ts';
import { WakeLoop } from '../timing/wake-loop.ts';
import { type PauseRow, selectPauses } from './queues.sql.ts';

/** Part of a queue that operators paused. */
export interface Paused {
  isWhole: boolean;
  accounts: readonly string[];
  endpoints: readonly string[];
}

export const nothingPaused: Paused = { isWhole: false, accounts: [], endpoints: [] };
/** Poll interval: finds what no news told of, since the bus was unavailable. */
const pollMs = 30_000;
const slowestRetryMs = 10_000;
const topic = 'queues';

/** The pauses of one service's queues, as every process of it knows them: from its table, read again whenever one changes. */
export class Pauses {
  /** Reads them again, one read at a time, so that none brings an older state back: as they are from then on, this process works. */
  readonly refresh: () => Promise<undefined>;
  readonly #bus: Bus;
  readonly #loop: WakeLoop;
  #pauses: readonly PauseRow[] = [];
  /** Something was changed since the last read, as other processes say. */
  #isTold = false;

  /** Calls `heard` once an operator may have changed something of a queue: where the pauses have changed, and when one was told of. */
  constructor(sql: Database, { bus, log, heard }: { bus: Bus; log: Logger; heard(): void }) {
    this.#bus = bus;
    this.refresh = coalesced(async () => {
      const [known, wasTold] = [JSON.stringify(this.#pauses), this.#isTold];
      this.#isTold = false;
      this.#pauses = await selectPauses(sql).catch((error: unknown) => {
        this.#isTold = wasTold;
        throw error;
      });
      if (wasTold || JSON.stringify(this.#pauses) !== known) heard();
      return undefined;
    });
    this.#loop = new WakeLoop('pauses', { everyMs: pollMs, slowestRetryMs, log }, this.refresh);
    bus.onPeers(topic, () => this.#readAgain());
  }

  /** Returns what of a queue is paused now; nothing is of work without one. */
  of(queue: string | undefined): Paused {
    const pauses = this.#pauses.filter((pause) => pause.queue === queue);
    return {
      isWhole: pauses.some(({ account, endpoint }) => account === null && endpoint === null),
      accounts: pauses.flatMap(({ account, endpoint }) => (endpoint === null ? (account ?? []) : [])),
      endpoints: pauses.flatMap(({ endpoint }) => endpoint ?? []),
    };
  }

  /** Tells every process of the service that an operator changed something: after the commit. */
  announce(): void {
    this.#readAgain();
    this.#bus.tell(topic);
  }

  #readAgain(): void {
    this.#isTold = true;
    this.#loop.wake();
  }

  async stop(): Promise<void> {
    await this.#loop.stop();
  }
}
