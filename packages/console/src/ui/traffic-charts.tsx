import { type ReactNode, useMemo } from 'react';
import { trafficOf } from '../traffic.ts';
import { Chart } from './chart.tsx';
import { milliseconds } from './format.ts';
import { Loading, useResource } from './lists.tsx';

/** Poll interval in milliseconds: a response has a day, and changes once a minute. */
const trafficPollMs = 30_000;

/** The last hour's requests of an account, or of all together. */
function useTraffic(account?: string) {
  const { data, error, isLoading, loadedAt } = useResource('GET /admin/traffic', { query: { account } }, trafficPollMs);
  // Time goes on where nothing else changes.
  const traffic = useMemo(() => data && trafficOf(data.data, loadedAt), [data, loadedAt]);
  return { traffic, error, isLoading };
}

/** Requests, refusals and response times of the last hour, of an account or of all together; `children` are further charts. */
export function TrafficCharts({ account, children }: { account?: string; children?: ReactNode }) {
  const { traffic, error, isLoading } = useTraffic(account);
  return (
    <>
      <Loading isLoading={isLoading} error={error} />
      <div className="charts">
        {traffic && (
          <>
            <Chart
              title="Requests a minute"
              times={traffic.times}
              series={[{ label: 'requests', colour: 1, values: traffic.requests }]}
            />
            <Chart
              title="Errors a minute"
              times={traffic.times}
              series={[
                { label: '4xx', colour: 1, values: traffic.refused },
                { label: '429', colour: 2, values: traffic.limited },
                { label: '5xx', colour: 3, values: traffic.failed },
              ]}
            />
            <Chart
              title="Response time, p99"
              times={traffic.times}
              series={[{ label: 'p99', colour: 1, values: traffic.p99 }]}
              format={milliseconds}
            />
          </>
        )}
        {children}
      </div>
    </>
  );
}
