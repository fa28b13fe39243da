import type { Job } from '@customer-platform/service-kit';
import { changePlans } from './change-plan.ts';
import { planEvents } from './plan-events.ts';
import { lapse } from './plan-state.ts';
import { lockLapsedPlans } from './plans.sql.ts';

const batchSize = 100;

/** Expires plans that nobody decided in time; if steps are decided one by one, skips those that nobody decided. */
export const expirePlans: Job<unknown> = {
  name: 'expire-plans',
  everyMs: 500,
  async run({ tx, now, emit, findAccounts }) {
    const rows = await lockLapsedPlans(tx, now, batchSize);
    const accounts = findAccounts(rows.map(({ account_id }) => account_id));
    const timezoneOf = (row: { account_id: string }) => accounts.get(row.account_id)?.timezone ?? 'UTC';
    const changed = await changePlans(tx, rows, (each) => lapse(each, now), timezoneOf);
    for (const { row, outcome, plan, previous } of changed) {
      const account = accounts.get(row.account_id);
      if (outcome && account) emit(planEvents[outcome], account, { plan, previous }, row.trace ?? undefined);
    }
    return rows.length === batchSize;
  },
};
