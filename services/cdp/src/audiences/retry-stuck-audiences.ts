import type { Job } from '@customer-platform/service-kit';
import { takeStuck } from './due-audiences.sql.ts';
import { noteFailure } from './refresh-whole.ts';

const batch = 100;
const stuckMs = 900_000;

/** Restarts an audience that has been building for 15 minutes. After another 15 minutes it fails. */
export const retryStuckAudiences: Job<unknown> = {
  name: 'retry-stuck-audiences',
  due: { name: 'audiences', due: 'building_since', where: (sql) => sql`status = 'building'`, afterMs: stuckMs },
  everyMs: 5_000,
  async run(call, scope) {
    const stuck = await takeStuck(call.tx, scope, new Date(call.now.getTime() - stuckMs), batch);
    const accounts = call.findAccounts(stuck.map((audience) => audience.account_id));
    for (const audience of stuck) {
      const account = accounts.get(audience.account_id);
      if (account)
        await noteFailure(call, account, audience, 'Computing the members took longer than 15 minutes, twice');
    }
    return stuck.length === batch;
  },
};
