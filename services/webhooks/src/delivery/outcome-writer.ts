import { type Database, inTransaction, type Logger, WakeLoop } from '@customer-platform/service-kit';
import { type EndpointNews, writeEndpointNews, writeOutcomes } from './dispatch.sql.ts';
import type { TryOutcome } from './outcome.ts';

const maxBatch = 500;

/**
 * Writes what tries led to, all that have ended since the last statement in one: a commit is shared by many tries, and
 * none is told as written before it is durable. What cannot be written now is kept and tried again.
 */
export class OutcomeWriter {
  readonly #sql: Database;
  readonly #clock: () => Date;
  readonly #loop: WakeLoop;
  readonly #written: (outcomes: TryOutcome[]) => void;
  readonly #failingSince = new Map<string, Date | null>();
  #waiting: TryOutcome[] = [];

  constructor(sql: Database, clock: () => Date, log: Logger, written: (outcomes: TryOutcome[]) => void) {
    this.#sql = sql;
    this.#clock = clock;
    this.#written = written;
    this.#loop = new WakeLoop('outcomes', { everyMs: 60_000, slowestRetryMs: 2000, log }, () => this.#writeAll());
  }

  /** How many tries wait to be written. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /** Takes an outcome; `failingSince` is what the database says of the endpoint as far as the dispatcher knows. */
  add(outcome: TryOutcome, failingSince: Date | null): void {
    if (!this.#failingSince.has(outcome.endpointId)) this.#failingSince.set(outcome.endpointId, failingSince);
    this.#waiting.push(outcome);
    this.#loop.wake();
  }

  /** Writes what is left, as long as the database takes it. */
  async stop(): Promise<void> {
    await this.#loop.stop();
    await this.#writeAll();
  }

  async #writeAll(): Promise<undefined> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.slice(0, maxBatch);
      const news = newsOf(batch, this.#failingSince);
      const now = this.#clock();
      if (news.length === 0) await writeOutcomes(this.#sql, batch, now);
      else {
        await inTransaction(this.#sql, async (tx) => {
          await writeEndpointNews(tx, news, now);
          await writeOutcomes(tx, batch, now);
        });
      }
      this.#waiting = this.#waiting.slice(batch.length);
      if (this.#waiting.length === 0) this.#failingSince.clear();
      else for (const one of news) this.#failingSince.set(one.endpointId, one.failingSince);
      this.#written(batch);
    }
  }
}

/** What a batch changes about its endpoints: the beginning or end of failing, and being switched off. In their ids' order. */
export function newsOf(batch: TryOutcome[], failingSince: ReadonlyMap<string, Date | null>): EndpointNews[] {
  const byEndpoint = new Map<string, EndpointNews>();
  for (const outcome of batch) {
    const { accountId, endpointId, url } = outcome;
    let news = byEndpoint.get(endpointId);
    if (news?.url !== url) {
      const known = news === undefined ? (failingSince.get(endpointId) ?? null) : null;
      news = { accountId, endpointId, url, failingSince: known, disable: null };
      byEndpoint.set(endpointId, news);
    }
    news.failingSince = outcome.status === 'delivered' ? null : (news.failingSince ?? outcome.at);
    news.disable ??= outcome.disable;
  }
  const changed = [...byEndpoint.values()].filter((news) => {
    const before = failingSince.get(news.endpointId)?.getTime();
    return news.disable !== null || news.failingSince?.getTime() !== before;
  });
  return changed.sort((a, b) => (a.endpointId < b.endpointId ? -1 : 1));
}
