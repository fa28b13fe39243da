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
/** Time for gathering outcomes into a batch. The delay rarely matters, and a commit for each would cost as much as recording its event. */
const gatherMs = 30;

const tries = meter.createCounter('webhooks.tries', { description: 'Delivery attempts by outcome.' });

/** Called with the written outcomes and the endpoints that have deliveries waiting for another attempt. */
type Written = (outcomes: readonly TryOutcome[], waitingEndpoints: readonly string[]) => void;

/**
 * Writes outcomes of attempts in batches, so that many share a commit. None counts as written before it is durable. An
 * outcome that the database refuses is logged. Its delivery stays due, and is sent again once a process claims the
 * endpoint again. Outcomes of an endpoint with a locked row do not delay the others.
 */
export class OutcomeWriter {
  readonly #sql: Database;
  readonly #clocks: Clocks;
  readonly #written: Written;
  readonly #writer: BatchWriter<TryOutcome>;
  /** Outcomes whose write has begun. If the response to a commit is lost, the outcome may be stored already when it is written again. */
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
      together: countBeforeRepeat,
      write: (outcomes) => this.#write(outcomes),
      refused: ({ deliveryId }, error) => {
        log.error({ err: error, delivery: deliveryId }, 'the outcome of a delivery attempt cannot be stored');
      },
    });
  }

  /** Number of outcomes that wait to be written. */
  get waiting(): number {
    return this.#writer.waiting;
  }

  add(outcome: TryOutcome): void {
    tries.add(1, { outcome: outcome.error ?? String(outcome.httpStatus) });
    this.#writer.add(outcome);
  }

  /** Writes the remaining outcomes, unless the database fails. */
  async stop(): Promise<void> {
    await this.#writer.stop();
  }

  /** Writes a batch. Returns the outcomes of endpoints that another transaction has locked. */
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
 * Returns how many outcomes precede the first repeated delivery, because a statement changes a row once. Repetition
 * occurs when a lease is lost and taken again before an outcome is written.
 */
function countBeforeRepeat(outcomes: readonly TryOutcome[]): number {
  const seen = new Set<string>();
  const repeated = outcomes.findIndex(({ deliveryId }) => {
    const isKnown = seen.has(deliveryId);
    seen.add(deliveryId);
    return isKnown;
  });
  return repeated === -1 ? outcomes.length : repeated;
}

/** Summarizes a batch by endpoint and attempted URL, ordered by endpoint id. A response from one URL says nothing about another. */
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
