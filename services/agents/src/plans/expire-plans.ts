import { batchOf, type Job, RowFinder } from '@customer-platform/service-kit';
import { changePlansAtWork } from './change-plan.ts';
import { lapse } from './plan-state.ts';
import { lapsingPlans, takeLapsedPlans } from './plans.sql.ts';

const finder = new RowFinder(lapsingPlans);
const room = batchOf(100);

/**
 * Expires plans that nobody decided in time, however many of one account before those of another; if steps are decided one by one, skips those that nobody
 * decided.
 */
export const expirePlans: Job<unknown> = {
  name: 'expire-plans',
  due: lapsingPlans,
  everyMs: 500,
  async run(call, scope) {
    const { tx: sql, now } = call;
    const { rows, hasMore } = await finder.take({ sql, now, scope, room }, (due) => takeLapsedPlans(sql, due));
    await changePlansAtWork(call, rows, (row) => lapse(row, now));
    return hasMore;
  },
};
