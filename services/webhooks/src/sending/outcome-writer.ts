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
  /** Since when an address has failed, as the database has it: known while outcomes of it wait, since others may write it afterwards. */
  readonly #failingSince = new Map<string, Date | null>();
  /** Outcomes by address that wait. */
  readonly #waitingOf = new Map<string, number>();
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
      together: untilRepeated,
      write: (outcomes) => this.#write(outcomes),
      lockOf: ({ endpointId }) => endpointId,
      refused: (outcome, error) => {
        this.#forget(outcome);
        log.error({ err: error, delivery: outcome.deliveryId }, 'the outcome of a try cannot be stored');
      },
    });
  }

  /** Tries that wait to be written, but for those whose endpoint another transaction has locked. */
  get waiting(): number {
    return this.#writer.waiting;
  }

  /** Takes an outcome; `failingSince` is the endpoint's as far as the dispatcher knows. */
  add(outcome: TryOutcome, failingSince: Date | null): void {
    tries.add(1, { outcome: outcome.error ?? String(outcome.httpStatus) });
    const address = addressOf(outcome);
    const before = this.#waitingOf.get(address) ?? 0;
    if (before === 0) this.#failingSince.set(address, failingSince);
    this.#waitingOf.set(address, before + 1);
    this.#writer.add(outcome);
  }

  /** Writes what is left, as long as the database takes it. */
  async stop(): Promise<void> {
    await this.#writer.stop();
  }

  /** Writes a batch; returns the outcomes of endpoints that another transaction has locked. */
  async #write(batch: readonly TryOutcome[]): Promise<readonly TryOutcome[]> {
    const news = newsOf(batch, this.#failingSince);
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
    for (const one of news) if (!locked.has(one.endpointId)) this.#failingSince.set(addressOf(one), one.failingSince);
    this.#written(written, waiting);
    for (const one of written) this.#forget(one);
    return batch.filter(({ endpointId }) => locked.has(endpointId));
  }

  /** Takes note that an outcome waits no more. */
  #forget(outcome: TryOutcome): void {
    const address = addressOf(outcome);
    const left = this.#waitingOf.get(address)! - 1;
    if (left > 0) {
      this.#waitingOf.set(address, left);
      return;
    }
    this.#waitingOf.delete(address);
    this.#failingSince.delete(address);
  }
}

/** Names an endpoint at the address that it had: what is known of one address says nothing of the next. */
function addressOf({ endpointId, url }: { endpointId: string; url: string }): string {
  return `${endpointId} ${url}`;
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

/** Returns what a batch changes about its endpoints: the beginning or end of failing, and being switched off. In their ids' order. */
export function newsOf(batch: readonly TryOutcome[], failingSince: ReadonlyMap<string, Date | null>): EndpointNews[] {
  const byAddress = new Map<string, EndpointNews>();
  for (const outcome of batch) {
    if (outcome.isAborted) continue;
    const { accountId, endpointId, url } = outcome;
    const address = addressOf(outcome);
    const known = failingSince.get(address) ?? null;
    const news = byAddress.get(address) ?? { accountId, endpointId, url, failingSince: known, disable: null };
    byAddress.set(address, news);
    news.failingSince = outcome.status === 'delivered' ? null : (news.failingSince ?? outcome.at);
    news.disable ??= outcome.disable;
  }
  const changed = [...byAddress].flatMap(([address, news]) => {
    const before = failingSince.get(address)?.getTime();
    return news.disable !== null || news.failingSince?.getTime() !== before ? [news] : [];
  });
  return changed.sort((a, b) => (a.endpointId < b.endpointId ? -1 : 1));
}
