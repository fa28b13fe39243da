import type { Bus } from '../bus/bus.ts';
import type { Database } from '../database/database.ts';
import type { Logger } from '../telemetry/logging.ts';
import { coalesced } from '../timing/single-flight.ts';
import { WakeLoop } from '../timing/wake-loop.ts';
import { type PauseRow, selectPauses } from './queues.sql.ts';

/** The parts of a queue that operators paused. */
export interface Paused {
  isWhole: boolean;
  accounts: readonly string[];
  endpoints: readonly string[];
}

export const nothingPaused: Paused = { isWhole: false, accounts: [], endpoints: [] };
/** Poll interval for changes missed while the bus was unavailable. */
const pollMs = 30_000;
const slowestRetryMs = 10_000;
const topic = 'queues';

/** The pauses of one service's queues, which every process caches from the table and rereads at each change. */
export class Pauses {
  /** Rereads the pauses, one read at a time, so that no older state returns. This process follows them once it resolves. */
  readonly refresh: () => Promise<undefined>;
  readonly #bus: Bus;
  readonly #loop: WakeLoop;
  #pauses: readonly PauseRow[] = [];
  /** A change was announced since the last read. */
  #hasNews = false;

  /** Calls `changed` after an operator may have changed a queue: when the pauses differ, or a change was announced. */
  constructor(sql: Database, { bus, log, changed }: { bus: Bus; log: Logger; changed(): void }) {
    this.#bus = bus;
    this.refresh = coalesced(async () => {
      const [known, hadNews] = [JSON.stringify(this.#pauses), this.#hasNews];
      this.#hasNews = false;
      this.#pauses = await selectPauses(sql).catch((error: unknown) => {
        this.#hasNews = hadNews;
        throw error;
      });
      if (hadNews || JSON.stringify(this.#pauses) !== known) changed();
      return undefined;
    });
    this.#loop = new WakeLoop('pauses', { everyMs: pollMs, slowestRetryMs, log }, this.refresh);
    bus.onPeerNews(topic, () => this.#readAgain());
  }

  /** Returns the paused parts of a queue now; none for work without a queue. */
  of(queue: string | undefined): Paused {
    const pauses = this.#pauses.filter((pause) => pause.queue === queue);
    return {
      isWhole: pauses.some(({ account, endpoint }) => account === null && endpoint === null),
      accounts: pauses.flatMap(({ account, endpoint }) => (endpoint === null ? (account ?? []) : [])),
      endpoints: pauses.flatMap(({ endpoint }) => endpoint ?? []),
    };
  }

  /** Announces to every process of the service that an operator changed something. Call it after the commit. */
  announce(): void {
    this.#readAgain();
    this.#bus.publishNews(topic);
  }

  #readAgain(): void {
    this.#hasNews = true;
    this.#loop.wake();
  }

  async stop(): Promise<void> {
    await this.#loop.stop();
  }
}
