import { advanceSandboxClock, maxAdvanceDays } from '@customer-platform/contracts/accounts';
import { dayMs, formatInstant } from '@customer-platform/service-kit';
import { insertAdvance, selectClock } from './clock.sql.ts';
import { implement, toClock } from './get-clock.ts';

/** Starts to advance a sandbox's clock. The advance begins after the commit. */
export const advanceClock = implement(advanceSandboxClock, {
  async handle({ account, body, tx, fail, resources }) {
    const { advance_to: target } = body;
    const clock = await selectClock(tx, account.id);
    const real = resources.clocks.real();
    const now = real.getTime() + clock.aheadMs;
    if (target.getTime() <= now) {
      const shown = formatInstant(new Date(now), account.timezone);
      fail('invalid_request', `advance_to must be ahead of the sandbox's clock, which is at ${shown}`, 'advance_to');
    }
    if (target.getTime() > now + maxAdvanceDays * dayMs) {
      const latest = formatInstant(new Date(now + maxAdvanceDays * dayMs), account.timezone);
      const message = `advance_to must be at most ${maxAdvanceDays} days ahead of the sandbox's clock: ${latest} at the latest`;
      fail('invalid_request', message, 'advance_to');
    }
    if (clock.target) {
      const shown = formatInstant(clock.target, account.timezone);
      fail('invalid_state', `The clock is advancing to ${shown}; try again once its status is ready`);
    }
    if (!(await insertAdvance(tx, account.id, target, real)))
      fail('invalid_state', 'The clock is already advancing; try again once its status is ready');
    return toClock(account, { ...clock, target }, real);
  },
  committed: ({ queue }) => queue.wake(),
});
