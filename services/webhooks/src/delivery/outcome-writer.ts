import { type Database, inTransaction, isRefusedData, type Logger, WakeLoop } from '@customer-platform/service-kit';
import type { TryOutcome } from './outcome.ts';
import { type EndpointNews, writeEndpointNews, writeOutcomes } from './outcomes.sql.ts';

const maxBatch = 500;

/**
 * Writes what tries led to, all that have ended since the last statement in one: a commit is shared by many tries, and
 * none is told as written before it is durable. What cannot be written now is kept and tried again; one that the database
 * will never take does not keep the others.
 */
export class OutcomeWriter {
  readonly #sql: Database;
  readonly #clock: () => Date;
  readonly #log: Logger;
  readonly #loop: WakeLoop;
  readonly #written: (outcomes: TryOutcome[]) => void;
  /** By address, what the database says of it. */
  readonly #failingSince = new Map<string, Date | null>();
  #waiting: TryOutcome[] = [];

  constructor(sql: Database, clock: () => Date, log: Logger, written: (outcomes: TryOutcome[]) => void) {
    this.#sql = sql;
    this.#clock = clock;
    this.#log = log;
    this.#written = written;
    this.#loop = new WakeLoop('outcomes', { everyMs: 60_000, slowestRetryMs: 2000, log }, () => this.#writeAll());
  }

  /** How many tries wait to be written. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /** Takes an outcome; `failingSince` is what the database says of the endpoint as far as the dispatcher knows. */
  add(outcome: TryOutcome, failingSince: Date | null): void {
    const address = addressOf(outcome);
    if (!this.#failingSince.has(address)) this.#failingSince.set(address, failingSince);
    this.#waiting.push(outcome);
    this.#loop.wake();
  }

  /** Writes what is left, as long as the database takes it. */
  async stop(): Promise<void> {
    await this.#loop.stop();
    await this.#writeAll();
  }

  async #writeAll(): Promise<undefined> {
    let most = maxBatch;
    while (this.#waiting.length > 0) {
      const batch = firstOfEach(this.#waiting.slice(0, most));
      try {
        await this.#write(batch);
        this.#waiting = this.#waiting.slice(batch.length);
        most = maxBatch;
        this.#written(batch);
      } catch (error) {
        if (!isRefusedData(error)) throw error;
        most = Math.ceil(batch.length / 2);
        if (batch.length === 1) this.#giveUp(error);
      }
      if (this.#waiting.length === 0) this.#failingSince.clear();
    }
  }

  async #write(batch: TryOutcome[]): Promise<void> {
    const news = newsOf(batch, this.#failingSince);
    const now = this.#clock();
    if (news.length === 0) return await writeOutcomes(this.#sql, batch, now);
    await inTransaction(this.#sql, async (tx) => {
      await writeEndpointNews(tx, news, now);
      await writeOutcomes(tx, batch, now);
    });
    for (const one of news) this.#failingSince.set(addressOf(one), one.failingSince);
  }

  /** Its delivery stays due, and is tried again when another process, or this one after a restart, takes its endpoint. */
  #giveUp(error: unknown): void {
    const outcome = this.#waiting.shift();
    this.#log.error({ err: error, delivery: outcome?.deliveryId }, 'what came of a try cannot be written');
  }
}

/** Names an endpoint at the address that it had: what is known of one address says nothing of the next. */
function addressOf({ endpointId, url }: { endpointId: string; url: string }): string {
  return `${endpointId} ${url}`;
}

/**
 * The outcomes up to the first that is another one of the same delivery: a statement changes a row once. It comes to that
 * when a lease was lost, and taken again, before what came of a try could be written.
 */
function firstOfEach(outcomes: TryOutcome[]): TryOutcome[] {
  const seen = new Set<string>();
  const repeated = outcomes.findIndex(({ deliveryId }) => {
    const isKnown = seen.has(deliveryId);
    seen.add(deliveryId);
    return isKnown;
  });
  return repeated === -1 ? outcomes : outcomes.slice(0, repeated);
}

/** What a batch changes about its endpoints: the beginning or end of failing, and being switched off. In their ids' order. */
export function newsOf(batch: TryOutcome[], failingSince: ReadonlyMap<string, Date | null>): EndpointNews[] {
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
