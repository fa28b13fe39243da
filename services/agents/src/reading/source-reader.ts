import { Unreadable } from '@customer-platform/documents';
import { createGetter, type Getter, type TargetGuard } from '@customer-platform/outbound';
import { type Foundation, meter, WakeLoop } from '@customer-platform/service-kit';
import { writeReading } from './end-reading.ts';
import { Extractors } from './extractors.ts';
import { FairSemaphore } from './fair-semaphore.ts';
import { type Reading, readSource } from './read-source.ts';
import { type Claim, giveBack, renewLease } from './reading.sql.ts';
import { type LaneBounds, ReadingLane } from './reading-lane.ts';
import { agentName } from './robots.ts';

/** Lanes of one process: a backlog in one lane, or of one account, delays no other. */
const lanes: LaneBounds[] = [
  // Milliseconds each: they need neither the network nor another process.
  { kinds: ['article', 'faq'], most: 4, perAccount: 2 },
  { kinds: ['file'], most: 2, perAccount: 1 },
  // Mostly waiting: they share extractors and memory page by page.
  { kinds: ['website'], most: 8, perAccount: 2 },
];
/** Child processes that parse untrusted documents, each within 250 MiB, and the timeout per document. */
const filesAtOnce = 1;
const fileTimeoutMs = 30_000;
const pagesAtOnce = 2;
const pageTimeoutMs = 5_000;
/** Maximum number of pages of half a MiB to 5 MiB in memory at once. */
const largePagesAtOnce = 2;

/** Lease: how long a source waits after its reader dies. */
const leaseMs = 60_000;
const renewEveryMs = 2_000;
const longestReadingMs = 600_000;
/** Attempts per source: one that crashes processes must not be retried for ever. */
const maxTries = 5;
const maxScheduledTries = 3;
const tookTooLong = 'Reading took too long';

const readings = meter.createCounter('knowledge.readings', {
  description: 'Sources read, by kind and outcome.',
});

/** Reasons why a reading is not written. */
class NotOurs extends Error {}
class Stopped extends Error {}

/**
 * Reads due sources, in lanes by kind, of accounts in turn. Any number of processes may run: each claims the sources it reads, and
 * another continues those of a process that dies. A source that is processing always becomes ready or failed within ten minutes from
 * its first attempt.
 */
export class SourceReader {
  readonly #foundation: Foundation;
  readonly #getter: Getter;
  readonly #extractors = {
    files: new Extractors(filesAtOnce, { timeoutMs: fileTimeoutMs }),
    pages: new Extractors(pagesAtOnce, { timeoutMs: pageTimeoutMs }),
  };
  readonly #largePages = new FairSemaphore(largePagesAtOnce);
  readonly #lanes: ReadingLane[];

  constructor(foundation: Foundation & { guard: TargetGuard }) {
    this.#foundation = foundation;
    this.#getter = createGetter({
      ...foundation.guard,
      userAgent: `${agentName}/1.0`,
      maxSocketsPerPool: 4,
      maxSockets: 64,
    });
    const leasedUntil = () => this.#leasedUntil();
    const read = (claim: Claim, stop: AbortController) => this.#read(claim, stop);
    this.#lanes = lanes.map((bounds) => new ReadingLane(foundation, bounds, leasedUntil, read));
  }

  /** Announces that a source became due, after the commit of the transaction that made it so. */
  wake(): void {
    for (const lane of this.#lanes) lane.wake();
  }

  /** Stops claiming; releases the sources being read, for another process to claim. */
  async stop(): Promise<void> {
    await Promise.all(this.#lanes.map((lane) => lane.stop(new Stopped())));
    for (const extractors of Object.values(this.#extractors)) extractors.close();
    await this.#getter.close();
  }

  #leasedUntil(): Date {
    return new Date(this.#foundation.clock().getTime() + leaseMs);
  }

  /** Reads one source and writes the outcome; never rejects. */
  async #read(claim: Claim, stop: AbortController): Promise<void> {
    const { log, sql, clock } = this.#foundation;
    try {
      const result = await this.#resultOf(claim, stop);
      const outcome = await writeReading(this.#foundation, claim, result);
      readings.add(1, { kind: claim.kind, outcome });
    } catch (error) {
      try {
        if (error instanceof Stopped) await giveBack(sql, claim, clock());
        else if (!(error instanceof NotOurs))
          log.error({ err: error, source: claim.id }, 'reading a source failed; retry after its lease');
      } catch (cause) {
        log.warn({ err: cause, source: claim.id }, 'releasing a source failed; retry after its lease');
      }
    }
  }

  async #resultOf(claim: Claim, stop: AbortController): Promise<Reading | { reason: string }> {
    const refusal = this.#refusalOf(claim);
    if (refusal) return { reason: refusal };
    const { sql } = this.#foundation;
    const resources = { sql, getter: this.#getter, extractors: this.#extractors, largePages: this.#largePages };
    // Articles and FAQs are in the row: reading them needs no lease renewal.
    const lease = claim.kind === 'article' || claim.kind === 'faq' ? undefined : this.#keepClaimed(claim, stop);
    try {
      return await readSource(claim, { ...resources, signal: stop.signal });
    } catch (error) {
      if (error instanceof Unreadable) return { reason: error.message };
      throw error;
    } finally {
      await lease?.stop();
    }
  }

  /** Renews the lease of a source while it is read; aborts the reading once it is lost or too long. */
  #keepClaimed(claim: Claim, stop: AbortController): WakeLoop {
    const { sql, log } = this.#foundation;
    return new WakeLoop('lease', { everyMs: renewEveryMs, slowestRetryMs: renewEveryMs, log }, async () => {
      if (this.#isTooLong(claim)) stop.abort(new Unreadable(tookTooLong));
      else if (!(await renewLease(sql, claim, this.#leasedUntil()))) stop.abort(new NotOurs());
      return false;
    });
  }

  /** Returns why a source is not attempted again; undefined if it is. */
  #refusalOf(claim: Claim): string | undefined {
    if (this.#isTooLong(claim)) return tookTooLong;
    const most = claim.status === 'processing' ? maxTries : maxScheduledTries;
    return claim.tries > most ? 'Reading it was interrupted repeatedly' : undefined;
  }

  #isTooLong({ reading_since }: Claim): boolean {
    return this.#foundation.clock().getTime() - reading_since.getTime() >= longestReadingMs;
  }
}
