import {
  BatchWriter,
  type Clocks,
  type Database,
  inTransaction,
  type Logger,
  meter,
} from '@customer-platform/service-kit';
import type { TryOutcome } from './outcome.ts';
import { type EndpointNews, writeEndpointNews, writeOutcomes } from './outcomes.sql.ts';

const maxBatch = 500;
/** A little more than a transaction takes: nobody waits for an outcome, and each costs PostgreSQL as much as the event itself. */
const gatherMs = 30;

const tries = meter.createCounter('webhooks.tries', { description: 'Tries by what came of them.' });

/** Called with what was written, and with the endpoints of which something waits for its next try since. */
type Written = (outcomes: readonly TryOutcome[], waitingEndpoints: readonly string[]) => void;

/**
 * Writes outcomes of tries, all that have ended since the last statement in one: a commit is shared by many tries, and none counts as
 * written before it is durable. An outcome that the database will never take is logged: its delivery stays due, and is tried again when
 * another process, or this one after a restart, takes its endpoint. Outcomes of an endpoint whose row somebody has locked hold up no other's.
 */
export class OutcomeWriter {
  readonly #sql: Database;
  readonly #clocks: Clocks;
  readonly #written: Written;
  readonly #writer: BatchWriter<TryOutcome>;
  /** Outcomes whose writing has begun: where the response to its commit was lost, it is written already and comes again. */
  readonly #begun = new WeakSet<TryOutcome>();

  constructor(sql: Database, clocks: Clocks, log: Logger, written: Written) {
    this.#sql = sql;
    this.#clocks = clocks;
    this.#written = written;
    this.#writer = new BatchWriter<TryOutcome>({
      name: 'outcomes',
      log,
      maxBatch,
      gatherMs,
      together: untilRepeated,
      write: (outcomes) => this.#write(outcomes),
      refused: ({ deliveryId }, error) => {
        log.error({ err: error, delivery: deliveryId }, 'the outcome of a try cannot be stored');
      },
    });
  }

  /** Tries that wait to be written. */
  get waiting(): number {
    return this.#writer.waiting;
  }

  add(outcome: TryOutcome): void {
    tries.add(1, { outcome: outcome.error ?? String(outcome.httpStatus) });
    this.#writer.add(outcome);
  }

  /** Writes what is left, as long as the database takes it. */
  async stop(): Promise<void> {
    await this.#writer.stop();
  }

  /** Writes a batch; returns the outcomes of endpoints that another transaction has locked. */
  async #write(batch: readonly TryOutcome[]): Promise<readonly TryOutcome[]> {
    const news = newsOf(batch);
    const nowOf = ({ accountId }: { accountId: string }) => this.#clocks.nowOf(accountId);
    const locked = new Set<string>();
    let written = batch;
    let waiting: string[] = [];
    const mayBeWritten = batch.some((one) => this.#begun.has(one));
    for (const one of batch) this.#begun.add(one);
    await inTransaction(this.#sql, async (tx) => {
      if (news.length > 0) for (const id of await writeEndpointNews(tx, news, nowOf)) locked.add(id);
      written = batch.filter(({ endpointId }) => !locked.has(endpointId));
      if (written.length > 0) waiting = await writeOutcomes(tx, written, nowOf, { mayBeWritten });
    });
    this.#written(written, waiting);
    return batch.filter(({ endpointId }) => locked.has(endpointId));
  }
}

/**
 * Returns how many outcomes come before the first that is another one of the same delivery: a statement changes a row once. It comes to that
 * when a lease was lost, and taken again, before the outcome of a try could be written.
 */
function untilRepeated(outcomes: readonly TryOutcome[]): number {
  const seen = new Set<string>();
  const repeated = outcomes.findIndex(({ deliveryId }) => {
    const isKnown = seen.has(deliveryId);
    seen.add(deliveryId);
    return isKnown;
  });
  return repeated === -1 ? outcomes.length : repeated;
}

/** Returns what a batch says of its endpoints, each at the address that was tried: what one responds says nothing of the next. In their ids' order. */
export function newsOf(batch: readonly TryOutcome[]): EndpointNews[] {
  const byAddress = new Map<string, EndpointNews>();
  for (const { accountId, endpointId, url, isAborted, status, at, disable } of batch) {
    if (isAborted) continue;
    const address = `${endpointId} ${url}`;
    const news = byAddress.get(address) ?? {
      accountId,
      endpointId,
      url,
      delivered: false,
      failedAt: null,
      disable: null,
    };
    byAddress.set(address, news);
    news.delivered ||= status === 'delivered';
    news.failedAt = status === 'delivered' ? null : (news.failedAt ?? at);
    news.disable ??= disable;
  }
  return [...byAddress.values()].sort((a, b) => (a.endpointId < b.endpointId ? -1 : 1));
}
