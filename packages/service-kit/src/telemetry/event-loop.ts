import { monitorEventLoopDelay } from 'node:perf_hooks';

/** Sampling interval, by which a delay may be longer than it shows. The monitor counts it in. */
const resolutionMs = 100;
const windowMs = 10_000;

/** Whoever reads one span of time takes nothing from whoever reads another: operators have one monitor, metrics the other. */
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

/** Returns the delays since the last collection. For the one that collects metrics. */
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
