import type { Job } from '@customer-platform/service-kit';

/** Returns a job whose rounds by the clocks of accounts remember nothing of those by the real time: they run side by side. */
export function withRoundsApart(make: () => Job<unknown>): Job<unknown> {
  const [real, clocked] = [make(), make()];
  return { ...real, run: (call, scope) => (scope.account === undefined ? real : clocked).run(call, scope) };
}
