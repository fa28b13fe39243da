import { type ReactNode, useMemo } from 'react';
import { trafficOf } from '../traffic.ts';
import { Chart } from './chart.tsx';
import { milliseconds } from './format.ts';
import { Loading, useResource } from './lists.tsx';

/** Poll interval in milliseconds. A response covers a day and changes once a minute. */
const trafficPollMs = 30_000;

/** Returns the last hour's requests of an account, or of all accounts. */
function useTraffic(account?: string) {
  const { data, error, isLoading, loadedAt } = useResource('GET /admin/traffic', { query: { account } }, trafficPollMs);
  // `loadedAt` moves the time window even if the data stays the same.
  const traffic = useMemo(() => data && trafficOf(data.data, loadedAt), [data, loadedAt]);
  return { traffic, error, isLoading };
}

/** Charts of requests, errors and response times of the last hour, of an account or all accounts. `children` are further charts. */
export function TrafficCharts({ account, children }: { account?: string; children?: ReactNode }) {
  const { traffic, error, isLoading } = useTraffic(account);
  return (
    <>
      <Loading isLoading={isLoading} error={error} />
      <div className="charts">
        {traffic && (
          <>
            <Chart
              title="Requests per minute"
              times={traffic.times}
              series={[{ label: 'requests', color: 1, values: traffic.requests }]}
            />
            <Chart
              title="Errors per minute"
              times={traffic.times}
              series={[
                { label: '4xx', color: 1, values: traffic.refused },
                { label: '429', color: 2, values: traffic.limited },
                { label: '5xx', color: 3, values: traffic.failed },
              ]}
            />
            <Chart
              title="Response time, p99"
              times={traffic.times}
              series={[{ label: 'p99', color: 1, values: traffic.p99 }]}
              format={milliseconds}
            />
          </>
        )}
        {children}
      </div>
    </>
  );
}
