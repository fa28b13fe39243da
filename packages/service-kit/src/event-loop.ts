import { monitorEventLoopDelay } from 'node:perf_hooks';

/** Sampling interval: coarse, so that an idle process stays idle. */
const resolutionMs = 100;
const windowMs = 10_000;

const delay = monitorEventLoopDelay({ resolution: resolutionMs });
delay.enable();
let windowBeganMs = performance.now();
let ofWindowBefore = 0;

/** Returns the longest delay of this process's event loop in the last 10 to 20 s, in ms. */
export function eventLoopLagMs(): number {
  const now = performance.now();
  const longestMs = Math.max(0, delay.max / 1e6 - resolutionMs);
  const lagMs = Math.max(longestMs, ofWindowBefore);
  if (now - windowBeganMs > windowMs) {
    ofWindowBefore = longestMs;
    windowBeganMs = now;
    delay.reset();
  }
  return Math.round(lagMs * 10) / 10;
}
