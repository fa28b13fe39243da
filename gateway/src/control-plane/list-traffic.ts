import { adminOperations } from '@customer-platform/contracts/accounts';
import { formatInstant } from '@customer-platform/service-kit';
import { findAccountRow } from '../accounts/accounts.sql.ts';
import { selectMinutes } from '../traffic/traffic.sql.ts';
import { allAccounts, p99Ms, sumOf, trafficKeptMs } from '../traffic/traffic-counter.ts';
import { implement } from './admin-operation.ts';

/** Lists the requests of an account, or of all, by minute. */
export const listTraffic = implement(adminOperations.listTraffic, {
  async handle({ tx, query: { account }, now, fail }) {
    if (account !== undefined && !(await findAccountRow(tx, account)))
      return fail('not_found', 'No account has this id');
    const rows = await selectMinutes(tx, account ?? allAccounts, new Date(now.getTime() - trafficKeptMs));
    const minutes = Map.groupBy(rows, ({ minute }) => minute.getTime());
    const data = [...minutes].map(([minute, counts]) => {
      const { requests, s2xx, s4xx, s5xx, limited, durations } = sumOf(counts);
      const p99_ms = p99Ms({ requests, durations })!;
      return { minute: formatInstant(new Date(minute), 'UTC'), requests, s2xx, s4xx, s5xx, limited, p99_ms };
    });
    return { data };
  },
});
