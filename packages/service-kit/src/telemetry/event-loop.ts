import { monitorEventLoopDelay } from 'node:perf_hooks';

/** Sampling interval. The monitor includes it in each delay. A delay may exceed the reported one by up to this much. */
const resolutionMs = 100;
const windowMs = 10_000;

/** Two monitors, so that a reset of one does not affect the other: operators read one, metrics the other. */
const [recent, uncollected] = [startMonitor(), startMonitor()];
let longestBeforeMs = 0;
setInterval(() => {
  longestBeforeMs = delaysOf(recent).longestMs;
  recent.reset();
}, windowMs).unref();

/** Returns the longest delay of the event loop in the last 10 to 20 s, in ms with one decimal. */
export function eventLoopLagMs(): number {
  return Math.round(Math.max(delaysOf(recent).longestMs, longestBeforeMs) * 10) / 10;
}

/** Returns the delays since the last collection. Only for the collection of metrics. */
export function collectLoopDelays() {
  const delays = delaysOf(uncollected);
  uncollected.reset();
  return delays;
}

function startMonitor() {
  const monitor = monitorEventLoopDelay({ resolution: resolutionMs });
  monitor.enable();
  return monitor;
}

/** Returns the longest delay and the 99th percentile, in milliseconds. */
function delaysOf(monitor: ReturnType<typeof startMonitor>) {
  const delayOf = (nanoseconds: number) => Math.max(0, nanoseconds / 1e6 - resolutionMs);
  return { longestMs: delayOf(monitor.max), p99Ms: delayOf(monitor.percentile(99)) };
}
