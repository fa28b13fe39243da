import { setTimeout as sleep } from 'node:timers/promises';
import type { ClockLook } from '@customer-platform/contracts/core';
import { backoffMs, type Clocks, type Database, type DueWork } from '@customer-platform/service-kit';
import { type Advance, advances, claimAdvances, type StretchEnd, selectClock, settleAdvances } from './clock.sql.ts';
import type { clockedServices } from './clocked-services.ts';

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
  services: ReturnType<typeof clockedServices>;
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
    run: (advance, signal) => moveForAWhile(parts, advance, signal),
    settle: (ended) => settleAdvances(sql, ended, clocks.real()),
  };
}

/** Moves a clock until it is there, something holds it, or its time is over. Throws where a service is unavailable. */
async function moveForAWhile(
  { sql, clocks, services }: AdvanceParts,
  { account_id: accountId, attempts, target }: Advance,
  signal: AbortSignal,
): Promise<StretchEnd> {
  const untilMs = performance.now() + stretchMs;
  const moveTo = async (aheadMs: number) => {
    signal.throwIfAborted();
    await clocks.move(sql, accountId, aheadMs);
    await services.move(accountId, aheadMs);
  };
  let { aheadMs } = await selectClock(sql, accountId);
  // Where the gateway before this one died in between: every process goes by what was written.
  if (aheadMs > 0) await moveTo(aheadMs);
  let moment: Moment | undefined;
  while (performance.now() < untilMs) {
    const patience = moment || attempts === 1 ? patienceMs.first : patienceMs.again;
    const patientUntilMs = Math.min(performance.now() + patience, untilMs);
    const over = await endOfMoment(services, accountId, { before: moment, patientUntilMs, signal });
    if (!over) break;
    moment = over;
    const dueMs = Math.min(...over.looks.map(({ nextMs }) => nextMs ?? Number.POSITIVE_INFINITY));
    const nextMs = Math.min(dueMs, target.getTime());
    const nowMs = clocks.nowOf(accountId).getTime();
    if (nextMs <= nowMs && dueMs > target.getTime()) return null;
    // One that is due by this clock is due by that of a service in a moment.
    if (nextMs <= nowMs) await sleep(lookPauseMs.first, undefined, { signal });
    aheadMs = Math.max(aheadMs, nextMs - clocks.real().getTime());
    await moveTo(aheadMs);
  }
  return moment ? 0 : backoffMs(heldRest, attempts);
}

/** A moment that is over: the last looks at all services, and their marks, which are the same while there are no further events. */
interface Moment {
  looks: ClockLook[];
  marks: string;
}

/**
 * Waits until nothing of the account is under way; returns undefined where that takes too long. Where there were events since the moment
 * `before`, consumers must have passed the position that the stream had after the last of them: one position, and not each time the
 * newest, since others' events come all the time.
 */
async function endOfMoment(
  services: AdvanceParts['services'],
  accountId: string,
  { before, patientUntilMs, signal }: { before: Moment | undefined; patientUntilMs: number; signal: AbortSignal },
): Promise<Moment | undefined> {
  let position: { value: number; marks: string } | undefined;
  let marksBefore = before?.marks;
  let quiet = 0;
  for (let pauseMs = lookPauseMs.first; ; ) {
    signal.throwIfAborted();
    const looks = await services.look(accountId, position?.value ?? null);
    const marks = looks.map(({ mark }) => mark).join(' ');
    const isQuiet = looks.every(({ waitsFor }) => waitsFor.length === 0);
    const isPassed = marks === before?.marks || marks === position?.marks;
    const isStill = marks === marksBefore;
    const isVain = !isQuiet || (marksBefore !== undefined && !isStill);
    quiet = isQuiet && isPassed && isStill ? quiet + 1 : 0;
    marksBefore = marks;
    if (quiet === quietLooks) return { looks, marks };
    const areOut = looks.every(({ waitsFor }) => !waitsFor.includes('outbox'));
    if (!isPassed) position = areOut ? { value: await services.position(), marks } : undefined;
    // Never where it has become quiet: however slow looks are, it goes on then.
    if (isVain && performance.now() >= patientUntilMs) return undefined;
    if (isQuiet) continue;
    await sleep(pauseMs, undefined, { signal });
    pauseMs = Math.min(pauseMs * 2, lookPauseMs.most);
  }
}
