import type { DispatcherOptions } from './dispatcher-options.ts';
import type { HeldEndpoint } from './held-endpoint.ts';
import type { HeldQueues } from './held-queues.ts';
import { unread } from './queue-phase.ts';
import { type QueueState, readQueues } from './read-queues.sql.ts';
import { endTooOld } from './too-old.sql.ts';

const maxReadAtOnce = 50;
/** Pause after deliveries that are too old could not be ended. */
const endAgainMs = 2_000;

type ReaderOptions = Pick<DispatcherOptions, 'sql' | 'clocks' | 'log' | 'eventsKeptMs' | 'maxPerEndpoint'>;

/** Reads what is due of queues that are held, in one statement for many. */
export class QueueReader {
  readonly #options: ReaderOptions;
  readonly #queues: Pick<HeldQueues, 'moveBehind'>;
  #most = maxReadAtOnce;
  #endAgainAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: ReaderOptions, queues: Pick<HeldQueues, 'moveBehind'>) {
    this.#options = options;
    this.#queues = queues;
  }

  /** Queues that are read at once: fewer after a read that failed, for one of them may take too long for all. */
  get most(): number {
    return this.#most;
  }

  /** Returns the state of each, and the limits that they were read with. */
  async read(wanting: readonly HeldEndpoint[]): Promise<{ states: QueueState[]; limits: number[] }> {
    const { sql, clocks, eventsKeptMs, maxPerEndpoint } = this.#options;
    const limits = wanting.map((held) => held.wanted(maxPerEndpoint));
    const wanted = wanting.map((held, index) => ({
      ...held.key,
      limit: limits[index]!,
      now: clocks.nowOf(held.key.accountId),
    }));
    const busyIds = wanting.flatMap((held) => [...held.busy, ...held.ready.map((delivery) => delivery.id)]);
    for (const held of wanting) held.beginRead();
    try {
      const states = await readQueues(sql, wanted, { busyIds, eventsKeptMs });
      this.#most = Math.min(this.#most * 2, maxReadAtOnce);
      return { states, limits };
    } catch (error) {
      this.#most = Math.ceil(wanting.length / 2);
      for (const held of wanting) {
        held.queue = unread;
        this.#queues.moveBehind(held);
      }
      throw error;
    }
  }

  /** Ends deliveries that are too old, and returns whether it did: then there is more to read. Where that fails it is tried again some time later. */
  async endTooOld(states: readonly QueueState[]): Promise<boolean> {
    const { sql, log, eventsKeptMs } = this.#options;
    if (performance.now() < this.#endAgainAtMs) return false;
    try {
      return await endTooOld(sql, states, eventsKeptMs);
    } catch (error) {
      this.#endAgainAtMs = performance.now() + endAgainMs;
      log.error({ err: error }, 'deliveries that are too old could not be ended');
      return false;
    }
  }
}
