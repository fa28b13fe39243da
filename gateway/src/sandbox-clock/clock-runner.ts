import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ClockLook } from '@customer-platform/contracts/core';
import { type Clocks, type Database, type DueWatch, type Logger, LRUCache } from '@customer-platform/service-kit';
import { type Advance, claimAdvances, endAdvance, releaseAdvance, renewAdvance, selectClock } from './clock.sql.ts';
import type { ClockedServices } from './clocked-services.ts';

/** Clocks that one gateway moves at once. */
const most = 8;
/** Pause before clocks are looked for again that another gateway moves: it may have died. */
const againMs = 1_000;
const slowestRetryMs = 5_000;
/** Time for which one clock is moved without a break: then the next that waits comes. */
const stretchMs = 5_000;
const renewEveryMs = 3_000;
/** Shortest wait before a clock goes on that waits for a service. */
const restMs = 1_000;
/**
 * Time in which what was set off at a moment has to be done: a clock that is held for longer, as by an endpoint that hangs or a suspended
 * account, lets others come, and one that was held before lets them come sooner.
 */
const patienceMs = { first: 1_000, again: 200 };
/** Longest rest of a clock that is held: it rests for a tenth of the time for which it has been, as each look costs all services something. */
const longestRestMs = 10_000;
/** Clocks that are known to be held; of further ones it is forgotten, so that they rest for less. */
const maxHeld = 10_000;
/**
 * Looks in a row at which all is quiet and nothing has happened since the one before: what one service asks of another after that was looked
 * at is seen at the second.
 */
const quietLooks = 2;
/** Pause between looks while something is under way: at first, and at most. */
const lookPauseMs = { first: 5, most: 50 };

/** Parts of the gateway that move clocks. */
export interface RunnerParts {
  sql: Database;
  log: Logger;
  clocks: Clocks;
  watch: Pick<DueWatch, 'run'>;
  services: Pick<ClockedServices, 'look' | 'move' | 'position'>;
}

/** End of a stretch: the clock is where it was to be, its time was over, or something holds it. */
type Outcome = 'there' | 'over' | 'held';

/** State of an account of which nothing is under way. */
interface Quiet {
  /** The next moment at which something is due, by the account's clock; null where there is none. */
  nextMs: number | null;
  /** Marks of all services: the same while there are no further events. */
  marks: string;
}

/**
 * Moves the clocks of sandbox accounts: from one due moment to the next, and on only when all is done that was set off there. Whatever is
 * lost when the process dies is a lease; another gateway looks again at what is due and goes on.
 */
export class ClockRunner {
  readonly #parts: RunnerParts;
  readonly #holder = randomUUID();
  readonly #loop: ReturnType<DueWatch['run']>;
  /** Stretches under way. */
  readonly #stretches = new Set<Promise<void>>();
  /** Since when clocks are held, on the monotonic clock. */
  readonly #heldSince = new LRUCache<string, number>({ max: maxHeld });
  #isStopping = false;

  constructor(parts: RunnerParts) {
    this.#parts = parts;
    const rows = [{ name: 'clock_advances', due: null }];
    const pace = { everyMs: againMs, slowestRetryMs, log: parts.log };
    this.#loop = parts.watch.run({ name: 'clock advances', rows, ...pace }, () => this.#begin());
  }

  /** Says that a clock is to advance. */
  wake(): void {
    this.#loop.wake();
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#loop.stop();
    await Promise.all(this.#stretches);
  }

  /** Begins with clocks that nobody moves. */
  async #begin(): Promise<undefined> {
    const free = most - this.#stretches.size;
    if (free <= 0 || this.#isStopping) return;
    for (const advance of await claimAdvances(this.#parts.sql, this.#holder, free)) {
      const stretch = this.#move(advance).finally(() => {
        this.#stretches.delete(stretch);
        this.#loop.wake();
      });
      this.#stretches.add(stretch);
    }
  }

  /** Moves one clock for a while. Never rejects. */
  async #move(advance: Advance): Promise<void> {
    const { sql, log } = this.#parts;
    const { accountId } = advance;
    let rest = 0;
    try {
      const outcome = await this.#goOn(advance);
      if (outcome === 'there') return await endAdvance(sql, this.#holder, accountId);
      if (outcome === 'held') rest = this.#restOf(accountId);
    } catch (error) {
      if (this.#hold(accountId, performance.now())) log.warn({ err: error, account: accountId }, 'a clock waits');
      rest = Math.max(restMs, this.#restOf(accountId));
    }
    // Without the database the lease runs out.
    await releaseAdvance(sql, this.#holder, accountId, rest).catch(() => undefined);
  }

  /** Notes that a clock is held since a time; returns whether that is new. */
  #hold(accountId: string, sinceMs: number): boolean {
    if (this.#heldSince.has(accountId)) return false;
    this.#heldSince.set(accountId, sinceMs);
    return true;
  }

  /** Returns how long a clock rests that is held, in milliseconds. */
  #restOf(accountId: string): number {
    const heldMs = performance.now() - (this.#heldSince.get(accountId) ?? performance.now());
    return Math.round(Math.min(longestRestMs, heldMs / 10));
  }

  /** Moves a clock until it is there, something holds it, or its time is over. Throws where a service is unavailable. */
  async #goOn({ accountId, target }: Advance): Promise<Outcome> {
    const { sql, clocks, services } = this.#parts;
    const lease = new Lease(() => renewAdvance(sql, this.#holder, accountId));
    const untilMs = performance.now() + stretchMs;
    const isOver = () => this.#isStopping || performance.now() >= untilMs;
    // Where the gateway before this one died in between: every process goes by what was written.
    let { aheadMs } = await selectClock(sql, accountId);
    clocks.learn(accountId, aheadMs);
    if (aheadMs > 0) await services.move(accountId, aheadMs);
    let marks: string | undefined;
    while (!isOver()) {
      const quiet = await this.#settle({ accountId, lease, marks }, isOver);
      if (typeof quiet === 'string') return quiet;
      this.#heldSince.delete(accountId);
      marks = quiet.marks;
      const nowMs = clocks.nowOf(accountId).getTime();
      const nextMs = quiet.nextMs !== null && quiet.nextMs <= target.getTime() ? quiet.nextMs : target.getTime();
      if (nextMs <= nowMs && quiet.nextMs !== nextMs) return 'there';
      // One that is due by this clock is due by that of a service in a moment.
      if (nextMs <= nowMs) await sleep(lookPauseMs.first);
      aheadMs = Math.max(aheadMs, nextMs - clocks.real().getTime());
      // It may have stood still since it looked, and another gateway may know of an earlier moment by now.
      await lease.keep();
      await clocks.move(sql, accountId, aheadMs);
      await services.move(accountId, aheadMs);
    }
    return 'over';
  }

  /**
   * Waits until nothing of an account is under way, its time is over, or that takes too long. Where there were events since the last moment
   * consumers must have passed the position that the stream had after the last of them: one position, and not each time the newest, since
   * others' events come all the time.
   */
  async #settle(
    { accountId, lease, marks: known }: { accountId: string; lease: Lease; marks: string | undefined },
    isOver: () => boolean,
  ): Promise<Quiet | Exclude<Outcome, 'there'>> {
    const { services } = this.#parts;
    const beganMs = performance.now();
    const patientUntilMs = beganMs + (this.#heldSince.has(accountId) ? patienceMs.again : patienceMs.first);
    let position: { value: number; marks: string } | undefined;
    let before = known;
    let quiet = 0;
    let pauseMs = lookPauseMs.first;
    while (!isOver()) {
      await lease.keep();
      const looks = await services.look(accountId, position?.value ?? null);
      const marks = looks.map(({ mark }) => mark).join(' ');
      const isQuiet = looks.every(({ waitsFor }) => waitsFor.length === 0);
      // Never where it has become quiet: however slow looks are, it goes on then.
      const isVain = !isQuiet || (before !== undefined && marks !== before);
      const isPassed = marks === known || marks === position?.marks;
      quiet = isQuiet && isPassed && marks === before ? quiet + 1 : 0;
      before = marks;
      if (quiet === quietLooks) return { nextMs: earliest(looks), marks };
      if (!isPassed) position = areOut(looks) ? { value: await services.position(), marks } : undefined;
      if (isVain && performance.now() >= patientUntilMs) {
        this.#hold(accountId, beganMs);
        return 'held';
      }
      if (isQuiet) continue;
      await sleep(pauseMs);
      pauseMs = Math.min(pauseMs * 2, lookPauseMs.most);
    }
    return 'over';
  }
}

/** Returns whether all events that there were at these looks are in the stream. */
function areOut(looks: readonly ClockLook[]): boolean {
  return looks.every(({ waitsFor }) => !waitsFor.includes('outbox'));
}

function earliest(looks: readonly ClockLook[]): number | null {
  const moments = looks.flatMap(({ nextMs }) => nextMs ?? []);
  return moments.length === 0 ? null : Math.min(...moments);
}

/** The lease of a clock, renewed every few seconds. */
class Lease {
  readonly #renew: () => Promise<boolean>;
  #renewedAtMs = performance.now();

  constructor(renew: () => Promise<boolean>) {
    this.#renew = renew;
  }

  /** Renews it where it is time to. Throws where another process has it. */
  async keep(): Promise<void> {
    if (performance.now() - this.#renewedAtMs < renewEveryMs) return;
    this.#renewedAtMs = performance.now();
    if (!(await this.#renew())) throw new Error('another gateway moves this clock');
  }
}
