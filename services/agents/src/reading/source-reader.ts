import { createGetter, type Getter, type TargetGuard } from '@customer-platform/outbound';
import { type Foundation, meter, WakeLoop } from '@customer-platform/service-kit';
import { writeReading } from './end-reading.ts';
import type { ExtractorOptions } from './extractor.ts';
import { Unreadable } from './pieces.ts';
import { type Reading, readSource } from './read-source.ts';
import { type Claim, claimSource, giveBack, renewLease } from './reading.sql.ts';
import { agentName } from './robots.ts';

/** How late a source is begun that no wake told of: one that was read before, or that another process left. */
const lookEveryMs = 500;
const slowestRetryMs = 10_000;
/** Sources that one process reads at once; each has a child process for what others wrote. */
const maxAtOnce = 2;
/** How late a source goes on that a killed process was reading. */
const leaseMs = 60_000;
const renewEveryMs = 2_000;
const longestReadingMs = 600_000;
/** A source that takes processes down with it is not begun for ever. */
const maxTries = 5;
const maxScheduledTries = 3;
/** So many accounts are remembered as served, so that others come first. */
const maxServed = 100;
const tookTooLong = 'Reading took too long';

const readings = meter.createCounter('knowledge.readings', {
  description: 'Sources read, by kind and what came of it.',
});

/** Why a reading is not to be written. */
class NotOurs extends Error {}
class Stopped extends Error {}

export interface ReadingLimits {
  /** Of one page, from the look-up of its name to its last byte. */
  pageTimeoutMs?: number;
  extractor?: ExtractorOptions;
}

/**
 * Reads sources that are due, two at once, of accounts in turn. Any number of processes may do so: each claims what it reads, and what a
 * killed one was reading goes on elsewhere. Whatever happens, a source that is processing becomes ready or failed within ten minutes from
 * when it was begun.
 */
export class SourceReader {
  readonly #foundation: Foundation;
  readonly #limits: ReadingLimits;
  readonly #getter: Getter;
  readonly #loop: WakeLoop;
  readonly #running = new Map<string, { stop: AbortController; done: Promise<void> }>();
  #served: string[] = [];
  #isStopping = false;

  constructor(foundation: Foundation & { guard: TargetGuard }, limits: ReadingLimits = {}) {
    this.#foundation = foundation;
    this.#limits = limits;
    const { pageTimeoutMs } = limits;
    this.#getter = createGetter({
      ...foundation.guard,
      userAgent: `${agentName}/1.0`,
      maxSocketsPerPool: 4,
      maxSockets: 32,
      ...(pageTimeoutMs === undefined ? {} : { timeoutMs: pageTimeoutMs }),
    });
    const { log } = foundation;
    this.#loop = new WakeLoop('sources', { everyMs: lookEveryMs, slowestRetryMs, log }, () => this.#claim());
  }

  /** Says that a source became due: after the commit of the transaction that made it so. */
  wake(): void {
    this.#loop.wake();
  }

  /** Claims nothing more; what is being read is given back, for another process to read. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#loop.stop();
    for (const { stop } of this.#running.values()) stop.abort(new Stopped());
    await Promise.all([...this.#running.values()].map(({ done }) => done));
    await this.#getter.close();
  }

  async #claim(): Promise<boolean> {
    const { sql, clock } = this.#foundation;
    if (this.#isStopping || this.#running.size >= maxAtOnce) return false;
    const now = clock();
    const running = [...this.#running.keys()];
    const claim = await claimSource(sql, now, this.#leasedUntil(), { running, served: this.#served });
    if (!claim) return false;
    const others = this.#served.includes(claim.account_id) ? [] : this.#served.slice(1 - maxServed);
    this.#served = [...others, claim.account_id];
    const stop = new AbortController();
    const done = this.#read(claim, stop).finally(() => {
      this.#running.delete(claim.id);
      this.#loop.wake();
    });
    this.#running.set(claim.id, { stop, done });
    return true;
  }

  #leasedUntil(): Date {
    return new Date(this.#foundation.clock().getTime() + leaseMs);
  }

  /** Reads one source and writes what came of it; never rejects. */
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
          log.error({ err: error, source: claim.id }, 'a source could not be read; it comes again after its lease');
      } catch (cause) {
        log.warn({ err: cause, source: claim.id }, 'a source could not be given back; it comes again after its lease');
      }
    }
  }

  async #resultOf(claim: Claim, stop: AbortController): Promise<Reading | { reason: string }> {
    const refusal = this.#refusalOf(claim);
    if (refusal) return { reason: refusal };
    const { sql } = this.#foundation;
    const tools = { sql, getter: this.#getter, extractor: this.#limits.extractor ?? {}, signal: stop.signal };
    // What was written in place is read in no time.
    const lease = claim.kind === 'article' || claim.kind === 'faq' ? undefined : this.#keepClaimed(claim, stop);
    try {
      return await readSource(claim, tools);
    } catch (error) {
      if (error instanceof Unreadable) return { reason: error.message };
      throw error;
    } finally {
      await lease?.stop();
    }
  }

  /** Renews the lease of a source while it is read; stops the reading where it is over. */
  #keepClaimed(claim: Claim, stop: AbortController): WakeLoop {
    const { sql, log } = this.#foundation;
    return new WakeLoop('lease', { everyMs: renewEveryMs, slowestRetryMs: renewEveryMs, log }, async () => {
      if (this.#isTooLong(claim)) stop.abort(new Unreadable(tookTooLong));
      else if (!(await renewLease(sql, claim, this.#leasedUntil()))) stop.abort(new NotOurs());
      return false;
    });
  }

  /** Why a source is not begun once more. */
  #refusalOf(claim: Claim): string | undefined {
    if (this.#isTooLong(claim)) return tookTooLong;
    const most = claim.status === 'processing' ? maxTries : maxScheduledTries;
    return claim.tries > most ? 'Reading it was broken off again and again' : undefined;
  }

  #isTooLong({ reading_since }: Claim): boolean {
    return this.#foundation.clock().getTime() - reading_since.getTime() >= longestReadingMs;
  }
}
