import { monitorEventLoopDelay, performance } from 'node:perf_hooks';

/** Sampling interval, by which a delay may be longer than it shows. The monitor counts it in. */
const resolutionMs = 50;
/** Interval of looks at how busy the process is: one that is idle is not sampled, which would be most of what it does. */
const lookMs = 1_000;
/** Part of the time in which the loop does something, from which on a process is busy, and looks in a row after which it is idle. */
const leastUtilization = 0.02;
const calmLooks = 10;
const windowMs = 10_000;
/** Samples from which a percentile says something: two seconds of them. */
const leastSamples = 40;

/** Delays of the event loop in milliseconds. */
export interface LoopDelays {
  longestMs: number;
  p99Ms: number;
}

/**
 * Delays of this process's event loop, from its only monitor: its samples go into windows, so that whoever reads one span of time takes
 * nothing from whoever reads another. A window ends with the first reading after ten seconds, or with a collection.
 */
const delay = monitorEventLoopDelay({ resolution: resolutionMs });
delay.enable();
/** Looks in a row at which the process was not busy. */
let calm = 0;
/** Longest delay of a look in the window under way, while nothing is sampled. */
let longestOfLooksMs = 0;
let lookedAtMs = performance.now();
let used = performance.eventLoopUtilization();
setInterval(look, lookMs).unref();

/** Longest delays of windows that ended in the last ten seconds. */
let recent: { endedAtMs: number; longestMs: number }[] = [];
/** Windows that ended since the last collection. */
let uncollected: LoopDelays = { longestMs: 0, p99Ms: 0 };
let windowBeganMs = performance.now();

/** Returns the longest delay of the event loop in the last 10 to 20 s, in ms with one decimal; where nobody asked for longer, since then. */
export function eventLoopLagMs(): number {
  const sinceMs = performance.now() - windowMs;
  if (windowBeganMs < sinceMs) endWindow();
  const longest = recent.filter(({ endedAtMs }) => endedAtMs > sinceMs).map(({ longestMs }) => longestMs);
  return Math.round(Math.max(ofWindow().longestMs, ...longest) * 10) / 10;
}

/**
 * Returns the longest delay since the last collection, and the 99th percentile of the window in which that was highest. For the one
 * that collects metrics. A collection within two seconds of the last window's end leaves its samples for the next one too.
 */
export function collectLoopDelays(): LoopDelays {
  const hasSamples = delay.count >= leastSamples || calm >= calmLooks;
  if (hasSamples) endWindow();
  const collected = hasSamples ? uncollected : { ...uncollected, longestMs: longer(uncollected, ofWindow()) };
  uncollected = { longestMs: 0, p99Ms: 0 };
  return collected;
}

function look(): void {
  const nowMs = performance.now();
  if (calm >= calmLooks) longestOfLooksMs = Math.max(longestOfLooksMs, nowMs - lookedAtMs - lookMs);
  lookedAtMs = nowMs;
  const { utilization } = performance.eventLoopUtilization(used);
  used = performance.eventLoopUtilization();
  if (utilization < leastUtilization) {
    calm++;
    if (calm !== calmLooks) return;
    endWindow();
    delay.disable();
  } else {
    if (calm >= calmLooks) {
      delay.enable();
      // Its first sample is the time since the last before.
      setTimeout(() => delay.reset(), 2 * resolutionMs).unref();
    }
    calm = 0;
  }
}

function endWindow(): void {
  const ended = ofWindow();
  longestOfLooksMs = 0;
  delay.reset();
  const endedAtMs = performance.now();
  windowBeganMs = endedAtMs;
  recent = [
    ...recent.filter((window) => window.endedAtMs > endedAtMs - windowMs),
    { endedAtMs, longestMs: ended.longestMs },
  ];
  uncollected = { longestMs: longer(uncollected, ended), p99Ms: Math.max(uncollected.p99Ms, ended.p99Ms) };
}

function ofWindow(): LoopDelays {
  const delayOf = (nanoseconds: number) => Math.max(0, nanoseconds / 1e6 - resolutionMs);
  return { longestMs: Math.max(delayOf(delay.max), longestOfLooksMs), p99Ms: delayOf(delay.percentile(99)) };
}

function longer(one: LoopDelays, other: LoopDelays): number {
  return Math.max(one.longestMs, other.longestMs);
}
