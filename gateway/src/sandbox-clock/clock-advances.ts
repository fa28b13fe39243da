import { setTimeout as sleep } from 'node:timers/promises';
import type { ClockLook } from '@customer-platform/contracts/core';
import { backoffMs, type Clocks, type Database, type DueWork } from '@customer-platform/service-kit';
import { type Advance, advances, claimAdvances, type StretchEnd, selectClock, settleAdvances } from './clock.sql.ts';
import type { clockedServices } from './clocked-services.ts';

/** Maximum clocks that one gateway moves at once. */
const most = 8;
/** Maximum time for which one clock is moved without a break, in milliseconds. Then a waiting clock gets its turn. */
const stretchMs = 5_000;
/**
 * Time in which the work started at a moment must end. A clock held for longer, for example by a hanging endpoint,
 * makes way for others. One that was held before makes way sooner.
 */
const patienceMs = { first: 1_000, again: 200 };
/** Pause of a held clock, because each look at it costs every service something. */
const heldRest = { firstMs: 100, longestMs: 5_000 };
/**
 * Consecutive quiet looks without new events that end a moment. The second look sees work that one service requested
 * from another after the first look at that other service.
 */
const quietLooks = 2;
/** Pause between looks while work is in progress: the first, and the maximum. */
const lookPauseMs = { first: 5, most: 50 };

/** The parts of the gateway needed to move clocks. */
export interface AdvanceParts {
  sql: Database;
  clocks: Clocks;
  services: ReturnType<typeof clockedServices>;
}

/**
 * Declares the queue that moves sandbox clocks. A clock moves from one due moment to the next, and continues when all
 * work started there has ended. If the process dies, another gateway reads what is due and continues.
 */
export function clockAdvances(parts: AdvanceParts): DueWork<Advance, StretchEnd> {
  const { sql, clocks } = parts;
  return {
    queue: 'clocks',
    table: advances,
    concurrency: { most, perLane: 1, expectsSlowRuns: true },
    retries: { leaseMs: 10_000, backoff: { firstMs: 1_000, longestMs: 10_000 } },
    isByRealTime: true,
    everyMs: 1_000,
    stopMs: 0,
    claim: claimAdvances,
    run: (advance, signal) => moveForAWhile(parts, advance, signal),
    settle: (ended) => settleAdvances(sql, ended, clocks.real()),
  };
}

/** Moves a clock until it arrives, is held, or its time is over. Throws if a service is unavailable. */
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
  // A previous gateway may have died between the two steps. Makes every process use the stored clock.
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
    // Work due by this clock becomes due by a service's clock a moment later.
    if (nextMs <= nowMs) await sleep(lookPauseMs.first, undefined, { signal });
    aheadMs = Math.max(aheadMs, nextMs - clocks.real().getTime());
    await moveTo(aheadMs);
  }
  return moment ? 0 : backoffMs(heldRest, attempts);
}

/** A completed moment: the last looks at all services, and their marks. Marks stay the same until there are further events. */
interface Moment {
  looks: ClockLook[];
  marks: string;
}

/**
 * Waits until no work of the account is in progress; returns undefined if that takes too long. If there were events
 * since the moment `before`, consumers must have passed the stream position after the last of them. That position is
 * fixed, since waiting for the newest would never end while other accounts publish events.
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
    // A quiet account never times out here, however slow the looks are.
    if (isVain && performance.now() >= patientUntilMs) return undefined;
    if (isQuiet) continue;
    await sleep(pauseMs, undefined, { signal });
    pauseMs = Math.min(pauseMs * 2, lookPauseMs.most);
  }
}
