import type { Job } from '@customer-platform/service-kit';

/** Returns a job that runs rounds by the real time and rounds by sandbox clocks concurrently. They share no state. */
export function withRoundsApart(make: () => Job<unknown>): Job<unknown> {
  const [real, clocked] = [make(), make()];
  return { ...real, run: (call, scope) => (scope.account === undefined ? real : clocked).run(call, scope) };
}
