import { type Job, RoundRobin } from '@customer-platform/service-kit';
import { changePlansAtWork } from './change-plan.ts';
import { lapse } from './plan-state.ts';
import { lapsingPlans, takeLapsedPlans } from './plans.sql.ts';

const batches = new RoundRobin(lapsingPlans, { limit: 100, locks: true });

/**
 * Expires plans that nobody decided in time, however many of one account before those of another; if steps are decided one by one, skips those that nobody
 * decided.
 */
export const expirePlans: Job<unknown> = {
  name: 'expire-plans',
  due: lapsingPlans,
  everyMs: 500,
  async run(call, scope) {
    const mine = batches.of(scope);
    const { rows, cut } = await takeLapsedPlans(call.tx, (await mine.next(call.tx, call.now, [])).due);
    await changePlansAtWork(call, rows, (row) => lapse(row, call.now));
    return mine.took(rows.length, cut);
  },
};
