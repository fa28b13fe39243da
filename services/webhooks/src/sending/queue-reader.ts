import type { DispatcherOptions } from './dispatcher-options.ts';
import type { HeldEndpoint } from './held-endpoint.ts';
import type { HeldQueues } from './held-queues.ts';
import { unread } from './queue-phase.ts';
import { type QueueState, readQueues } from './read-queues.sql.ts';
import { endTooOld } from './too-old.sql.ts';

const maxReadAtOnce = 50;
/** Pause after a failure to end deliveries that are too old. */
const endAgainMs = 2_000;

type ReaderOptions = Pick<DispatcherOptions, 'sql' | 'clocks' | 'log' | 'eventsKeptMs' | 'maxPerEndpoint'>;

/** Reads due deliveries of many held queues in one statement. */
export class QueueReader {
  readonly #options: ReaderOptions;
  readonly #queues: Pick<HeldQueues, 'moveToEnd'>;
  #most = maxReadAtOnce;
  #endAgainAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: ReaderOptions, queues: Pick<HeldQueues, 'moveToEnd'>) {
    this.#options = options;
    this.#queues = queues;
  }

  /** Maximum number of queues per read. It halves after a failed read, because one slow queue may delay all. */
  get most(): number {
    return this.#most;
  }

  /** Returns each queue's state and the limit it was read with. */
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
        this.#queues.moveToEnd(held);
      }
      throw error;
    }
  }

  /** Ends deliveries that are too old, and returns whether it ended any: there is then more to read. Logs a failure and retries after 2 s. */
  async endTooOld(states: readonly QueueState[]): Promise<boolean> {
    const { sql, log, eventsKeptMs } = this.#options;
    if (performance.now() < this.#endAgainAtMs) return false;
    try {
      return await endTooOld(sql, states, eventsKeptMs);
    } catch (error) {
      this.#endAgainAtMs = performance.now() + endAgainMs;
      log.error({ err: error }, 'could not end deliveries that are too old');
      return false;
    }
  }
}
