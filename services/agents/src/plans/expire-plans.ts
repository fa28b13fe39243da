import type { Job } from '@customer-platform/service-kit';
import { changePlansAtWork } from './change-plan.ts';
import { lapse } from './plan-state.ts';
import { lockLapsedPlans } from './plans.sql.ts';

const batchSize = 100;

/** Expires plans that nobody decided in time; if steps are decided one by one, skips those that nobody decided. */
export const expirePlans: Job<unknown> = {
  name: 'expire-plans',
  due: { name: 'plans', due: 'lapses_at' },
  everyMs: 500,
  async run(call, scope) {
    const { rows, hasMore } = await lockLapsedPlans(call.tx, scope, call.now, batchSize);
    await changePlansAtWork(call, rows, (row) => lapse(row, call.now));
    return hasMore;
  },
};
