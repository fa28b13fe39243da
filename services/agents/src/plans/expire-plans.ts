import { batchOf, type Job, RowFinder } from '@customer-platform/service-kit';
import { changePlansAtWork } from './change-plan.ts';
import { lapse } from './plan-state.ts';
import { lapsingPlans, takeLapsedPlans } from './plans.sql.ts';

const finder = new RowFinder(lapsingPlans);
const room = batchOf(100);

/**
 * Expires plans that were not decided in time. If steps are decided one by one, skips the undecided steps. A backlog of one account does
 * not delay other accounts.
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
