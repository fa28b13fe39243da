import { setTimeout as sleep } from 'node:timers/promises';
import type { ClockLook } from '@customer-platform/contracts/core';
import { backoffMs, type Clocks, type Database, type DueWork } from '@customer-platform/service-kit';
import { type Advance, advances, claimAdvances, type StretchEnd, selectClock, settleAdvances } from './clock.sql.ts';
import type { ClockedServices } from './clocked-services.ts';

/** Clocks that one gateway moves at once. */
const most = 8;
/** Time for which one clock is moved without a break, in milliseconds: then the next that waits comes. */
const stretchMs = 5_000;
/**
 * Time in which what was set off at a moment has to be done. A clock that is held for longer, as by an endpoint that hangs, lets others come;
 * one that was held before lets them come sooner.
 */
const patienceMs = { first: 1_000, again: 200 };
/** Rest of a clock that is held: each look at it costs all services something. */
const heldRest = { firstMs: 100, longestMs: 5_000 };
/**
 * Looks in a row at which all is quiet and nothing has happened since the one before: what one service asks of another after that was looked
 * at is seen at the second.
 */
const quietLooks = 2;
/** Pause between looks while something is under way: at first, and at most. */
const lookPauseMs = { first: 5, most: 50 };

/** Parts of the gateway that move clocks. */
export interface AdvanceParts {
  sql: Database;
  clocks: Clocks;
  services: ClockedServices;
}

/**
 * Declares the queue that moves the clocks of sandbox accounts: from one due moment to the next, and on only when all is done that was set off
 * there. When the process dies another gateway looks again at what is due and goes on.
 */
export function clockAdvances(parts: AdvanceParts): DueWork<Advance, StretchEnd> {
  const { sql, clocks } = parts;
  return {
    queue: 'clocks',
    table: advances,
    concurrency: { most, perLane: 1, slowIsUsual: true },
    retries: { leaseMs: 10_000, backoff: { firstMs: 1_000, longestMs: 10_000 } },
    isByRealTime: true,
    everyMs: 1_000,
    stopMs: 0,
    claim: claimAdvances,
    run: (advance, signal) => new Stretch(parts, advance, signal).move(),
    settle: (ended) => settleAdvances(sql, ended, clocks.real()),
  };
}

/** One clock that is moved for a while. */
class Stretch {
  readonly #parts: AdvanceParts;
  readonly #advance: Advance;
  readonly #signal: AbortSignal;
  readonly #untilMs = performance.now() + stretchMs;
  /** Marks of all services when the last moment was over: the same while there are no further events. */
  #marks: string | undefined;
  #hasMoved = false;

  constructor(parts: AdvanceParts, advance: Advance, signal: AbortSignal) {
    this.#parts = parts;
    this.#advance = advance;
    this.#signal = signal;
  }

  /** Moves the clock until it is there, something holds it, or its time is over. Throws where a service is unavailable. */
  async move(): Promise<StretchEnd> {
    const { sql, clocks } = this.#parts;
    const { account_id: accountId, attempts } = this.#advance;
    const target = this.#advance.target.getTime();
    let { aheadMs } = await selectClock(sql, accountId);
    // Where the gateway before this one died in between: every process goes by what was written.
    if (aheadMs > 0) await this.#moveTo(aheadMs);
    while (performance.now() < this.#untilMs) {
      const looks = await this.#quiet();
      if (looks === undefined) break;
      this.#hasMoved = true;
      const dueMs = earliest(looks);
      const nextMs = Math.min(dueMs, target);
      const nowMs = clocks.nowOf(accountId).getTime();
      if (nextMs <= nowMs && dueMs > target) return { kind: 'there' };
      // One that is due by this clock is due by that of a service in a moment.
      if (nextMs <= nowMs) await this.#pause(lookPauseMs.first);
      aheadMs = Math.max(aheadMs, nextMs - clocks.real().getTime());
      await this.#moveTo(aheadMs);
    }
    if (this.#hasMoved) return { kind: 'moved', restMs: 0 };
    return { kind: 'held', restMs: backoffMs(heldRest, attempts) };
  }

  async #moveTo(aheadMs: number): Promise<void> {
    const { sql, clocks, services } = this.#parts;
    const { account_id: accountId } = this.#advance;
    this.#signal.throwIfAborted();
    await clocks.move(sql, accountId, aheadMs);
    await services.move(accountId, aheadMs);
  }

  /**
   * Waits until nothing of the account is under way; returns undefined where that takes too long. Where there were events since the last
   * moment, consumers must have passed the position that the stream had after the last of them: one position, and not each time the
   * newest, since others' events come all the time.
   */
  async #quiet(): Promise<ClockLook[] | undefined> {
    const { services } = this.#parts;
    const patience = this.#hasMoved || this.#advance.attempts === 1 ? patienceMs.first : patienceMs.again;
    const patientUntilMs = Math.min(performance.now() + patience, this.#untilMs);
    let position: { value: number; marks: string } | undefined;
    let before = this.#marks;
    let quiet = 0;
    for (let pauseMs = lookPauseMs.first; ; ) {
      this.#signal.throwIfAborted();
      const looks = await services.look(this.#advance.account_id, position?.value ?? null);
      const marks = looks.map(({ mark }) => mark).join(' ');
      const isQuiet = looks.every(({ waitsFor }) => waitsFor.length === 0);
      const isPassed = marks === this.#marks || marks === position?.marks;
      const isStill = marks === before;
      const isVain = !isQuiet || (before !== undefined && !isStill);
      quiet = isQuiet && isPassed && isStill ? quiet + 1 : 0;
      before = marks;
      if (quiet === quietLooks) {
        this.#marks = marks;
        return looks;
      }
      if (!isPassed) position = areOut(looks) ? { value: await services.position(), marks } : undefined;
      // Never where it has become quiet: however slow looks are, it goes on then.
      if (isVain && performance.now() >= patientUntilMs) return undefined;
      if (isQuiet) continue;
      await this.#pause(pauseMs);
      pauseMs = Math.min(pauseMs * 2, lookPauseMs.most);
    }
  }

  async #pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.#signal });
  }
}

/** Returns whether all events that there were at these looks are in the stream. */
function areOut(looks: readonly ClockLook[]): boolean {
  return looks.every(({ waitsFor }) => !waitsFor.includes('outbox'));
}

/** Returns the next moment at which something is due; infinite where there is none. */
function earliest(looks: readonly ClockLook[]): number {
  return Math.min(...looks.map(({ nextMs }) => nextMs ?? Number.POSITIVE_INFINITY));
}
