import { getSandboxClock, type SandboxClock } from '@customer-platform/contracts/accounts';
import type { AccountContext } from '@customer-platform/contracts/core';
import { type Clocks, formatInstant, implementer } from '@customer-platform/service-kit';
import { type ClockState, selectClock } from './clock.sql.ts';

/** Resources of the operations on a sandbox's clock. */
export interface ClockResources {
  clocks: Clocks;
  queue: { wake(): void };
}

export const implement = implementer<ClockResources>();

/** Returns the state of a sandbox's clock. */
export const getClock = implement(getSandboxClock, {
  async handle({ account, tx, resources }) {
    return toClock(account, await selectClock(tx, account.id), resources.clocks.real());
  },
});

/** Returns a clock as the API shows it at an instant of real time. */
export function toClock({ timezone }: AccountContext, { aheadMs, target }: ClockState, real: Date): SandboxClock {
  return {
    now: formatInstant(new Date(real.getTime() + aheadMs), timezone),
    status: target ? 'advancing' : 'ready',
    target: target && formatInstant(target, timezone),
  };
}
