import { waitFor } from '@customer-platform/testkit';
import { expect, it } from '@jest/globals';
import { collectLoopDelays, eventLoopLagMs } from './event-loop.ts';

/** Does nothing else for a time, as a long computation would. */
function block(ms: number): void {
  const untilMs = performance.now() + ms;
  while (performance.now() < untilMs);
}

it('gives metrics a delay that operators have seen', async () => {
  await waitFor('operators to see it', () => {
    block(200);
    return eventLoopLagMs() >= 100;
  });
  expect(collectLoopDelays().longestMs).toBeGreaterThanOrEqual(100);
});

it('shows operators a delay also once metrics have had it and begun another span', async () => {
  // A span ends after its samples, of which each poll adds one: its delays are of the last seconds, however slow the machine is.
  await waitFor('a span to end with its percentile', () => {
    block(120);
    return collectLoopDelays().p99Ms >= 50;
  });
  expect(eventLoopLagMs()).toBeGreaterThanOrEqual(50);
});
