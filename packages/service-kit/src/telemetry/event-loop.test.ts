import { waitFor } from '@customer-platform/testkit';
import { expect, it } from '@jest/globals';
import { collectLoopDelays, eventLoopLagMs } from './event-loop.ts';

/** Blocks the event loop for a time, as a long computation would. */
function block(ms: number): void {
  const untilMs = performance.now() + ms;
  while (performance.now() < untilMs);
}

it('reports a delay to operators and to metrics, even after the other has read it', async () => {
  await waitFor('operators to see it', () => {
    block(200);
    return eventLoopLagMs() >= 100;
  });
  expect(collectLoopDelays().longestMs).toBeGreaterThanOrEqual(100);
  expect(collectLoopDelays().longestMs).toBe(0);
  expect(eventLoopLagMs()).toBeGreaterThanOrEqual(100);
});
