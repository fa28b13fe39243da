import { Unreadable } from '@customer-platform/documents';
import { createGetter, type Getter, type TargetGuard } from '@customer-platform/outbound';
import {
  type DueWork,
  type Foundation,
  hasFailed,
  meter,
  type QueueMembership,
  WorkQueue,
} from '@customer-platform/service-kit';
import { writeReading } from './end-reading.ts';
import { Extractors } from './extractors.ts';
import { FairSemaphore } from './fair-semaphore.ts';
import { type Reading, readSource } from './read-source.ts';
import { type ClaimedSource, claimSources, dueSources, dueSourcesOf } from './reading.sql.ts';
import { agentName } from './robots.ts';

/** Parts of the queue. A backlog of one part or account does not delay another. */
const parts = [
  // Each takes milliseconds, without the network or another process.
  { name: 'texts', kinds: ['article', 'faq'], most: 4, perLane: 2 },
  // More files than processes, because a file that waits for a process holds only its row. Even the last of 12 meets its deadline.
  { name: 'files', kinds: ['file'], most: 12, perLane: 1 },
  // Mostly waiting for the network. Websites hold extractors and memory only page by page, but a hanging site holds a slot for minutes.
  { name: 'websites', kinds: ['website'], most: 32, perLane: 2 },
] as const;
/** Child processes that parse untrusted documents, each limited to 250 MiB, with a timeout per document. */
const filesAtOnce = { most: 3, kept: 1 };
const fileTimeoutMs = 30_000;
const pagesAtOnce = { most: 2, kept: 1 };
const pageTimeoutMs = 5_000;
/** Maximum pages of 0.5 MiB to 5 MiB in memory at once. */
const largePagesAtOnce = { most: 2, kept: 1 };

/** Lease: how long a source waits for another attempt after its reader dies. */
const leaseMs = 60_000;
const lateCheckMs = 2_000;
const longestReadingMs = 600_000;
/** Maximum attempts per source, so that a source that crashes processes is not retried forever. */
const maxTries = 5;
const maxScheduledTries = 3;
const queue = 'readings';
const tookTooLong = 'Reading took too long';
const isSuspended = 'The account is suspended';

const readings = meter.createCounter('knowledge.readings', {
  description: 'Sources read, by kind and outcome.',
});

/**
 * Reads due sources. Any number of processes may run. Each claims the sources it reads; if a process dies, another one reads its sources.
 * A processing source always becomes ready or failed within ten minutes of its first attempt.
 */
export class SourceReader {
  readonly #foundation: Foundation;
  readonly #getter: Getter;
  readonly #extractors = {
    files: new Extractors(filesAtOnce, { timeoutMs: fileTimeoutMs }),
    pages: new Extractors(pagesAtOnce, { timeoutMs: pageTimeoutMs }),
  };
  readonly #largePages = new FairSemaphore(largePagesAtOnce);
  readonly #queues: WorkQueue<ClaimedSource, void>[];
  readonly #membership: QueueMembership;

  constructor(foundation: Foundation & { guard: TargetGuard }) {
    this.#foundation = foundation;
    this.#getter = createGetter({
      ...foundation.guard,
      userAgent: `${agentName}/1.0`,
      maxSocketsPerPool: 4,
      maxSockets: 128,
    });
    this.#membership = foundation.queues.open({
      queue,
      rows: { ...dueSources, failed: hasFailed(dueSources.error) },
      running: () => this.#queues.flatMap(({ owners }) => owners),
      hasLeases: true,
      changed: () => this.wake(),
    });
    this.#queues = parts.map((part) => new WorkQueue(foundation, this.#part(part)));
  }

  /** Announces that a source is due. Call it after the transaction that made the source due has committed. */
  wake(): void {
    for (const part of this.#queues) part.wake();
  }

  /** Stops claiming, and releases the sources being read so that another process can claim them. */
  async stop(): Promise<void> {
    await Promise.all(this.#queues.map((part) => part.stop()));
    for (const extractors of Object.values(this.#extractors)) extractors.close();
    await this.#getter.close();
    this.#membership.close();
  }

  #part({ name, kinds, most, perLane }: (typeof parts)[number]): DueWork<ClaimedSource, void> {
    return {
      queue,
      part: name,
      membership: this.#membership,
      table: dueSourcesOf(kinds),
      concurrency: { most, perLane, expectsSlowRuns: true },
      retries: { leaseMs, backoff: { firstMs: leaseMs, longestMs: leaseMs } },
      everyMs: 500,
      stopMs: 0,
      claim: claimSources,
      // A source whose scheduled reading failed keeps its `tries` until the next attempt, so `tries` alone does not mean running.
      running: (sql) => sql`reading_since is not null and tries > 0 and last_error is null`,
      run: async (source, signal) => {
        const outcome = await writeReading(this.#foundation, source, await this.#read(source, signal));
        readings.add(1, { kind: source.kind, outcome });
      },
      // `run` writes the end of each reading separately, since it may be thousands of passages.
      settle: async () => undefined,
    };
  }

  async #read(source: ClaimedSource, stopped: AbortSignal): Promise<Reading | { reason: string }> {
    const refusal = (await this.#refusalNow(source)) ?? this.#refusalOf(source);
    if (refusal) return { reason: refusal };
    const late = new AbortController();
    const check = setInterval(async () => {
      const reason = await this.#refusalNow(source);
      if (reason) late.abort(new Unreadable(reason));
    }, lateCheckMs);
    const { sql } = this.#foundation;
    const shared = { getter: this.#getter, extractors: this.#extractors, largePages: this.#largePages };
    try {
      return await readSource(source, { sql, ...shared, signal: AbortSignal.any([stopped, late.signal]) });
    } catch (error) {
      if (error instanceof Unreadable) return { reason: error.message };
      throw error;
    } finally {
      clearInterval(check);
    }
  }

  /** Returns why a source gets no further attempt; undefined if it gets one. */
  #refusalOf(source: ClaimedSource): string | undefined {
    const most = source.status === 'processing' ? maxTries : maxScheduledTries;
    return source.attempts > most ? 'Reading it was interrupted repeatedly' : undefined;
  }

  /** Returns why reading must stop; undefined if it may continue. Never rejects: if the gateway does not reply, cached data decides. */
  async #refusalNow({ account_id, kind, reading_since }: ClaimedSource): Promise<string | undefined> {
    const { accounts, clock, log } = this.#foundation;
    if (clock().getTime() - reading_since.getTime() >= longestReadingMs) return tookTooLong;
    // A suspended account makes no outbound requests, but its stored texts and files are still read.
    if (kind !== 'website') return undefined;
    if (accounts.known(account_id) === undefined) {
      await accounts.fetch([account_id]).catch((error: unknown) => {
        log.warn({ err: error }, 'cannot refresh the account; reading its website continues');
      });
    }
    return accounts.known(account_id)?.suspended ? isSuspended : undefined;
  }
}
