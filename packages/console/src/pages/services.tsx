import type { LiveProcess } from '@customer-platform/contracts/accounts';
import { Link } from '@tanstack/react-router';
import { bytes, count, duration, milliseconds } from '../ui/format.ts';
import { Gone } from '../ui/gone.tsx';
import { Loading, useResource } from '../ui/lists.tsx';
import { Page } from '../ui/page.tsx';
import { type Column, DataTable } from '../ui/table.tsx';
import { exactTime, useNow } from '../ui/time.tsx';

/** Delay of the event loop that a request notices, in milliseconds. */
const longLagMs = 200;

const columns: Column<LiveProcess>[] = [
  {
    id: 'service',
    header: 'Service',
    sortBy: ({ service }) => service,
    cell: ({ service, waiting_for }) => (
      <>
        {service} {waiting_for && <span className="tag bad">waits for {waiting_for}</span>}
      </>
    ),
  },
  { id: 'instance', header: 'Instance', kind: 'wide', cell: ({ instance }) => <span className="id">{instance}</span> },
  { id: 'host', header: 'Host', cell: ({ host }) => host },
  {
    id: 'pid',
    header: 'Process',
    cell: ({ pid }) => (pid === undefined ? <span className="none">–</span> : <code>{pid}</code>),
  },
  { id: 'version', header: 'Version', cell: ({ version }) => version },
  {
    id: 'up',
    header: 'Up',
    kind: 'number',
    sortBy: ({ started_at }) => -Date.parse(started_at),
    cell: ({ started_at }) => <Uptime since={started_at} />,
  },
  {
    id: 'requests',
    header: 'In flight',
    kind: 'number',
    sortBy: ({ in_flight }) => in_flight,
    cell: ({ in_flight }) =>
      in_flight === 0 ? <span className="none">0</span> : <Link to="/traces">{count(in_flight)}</Link>,
  },
  {
    id: 'loop',
    header: 'Loop lag',
    kind: 'number',
    sortBy: (process) => process.event_loop_lag_ms,
    cell: ({ event_loop_lag_ms: lag }) => (
      <span className={lag > longLagMs ? 'warn-text' : undefined}>{milliseconds(lag)}</span>
    ),
  },
  {
    id: 'memory',
    header: 'Memory',
    kind: 'number',
    sortBy: (process) => process.memory_bytes,
    cell: ({ memory_bytes }) => bytes(memory_bytes),
  },
  {
    id: 'pool',
    header: 'Connections',
    kind: 'number',
    sortBy: ({ pool }) => pool.used,
    cell: ({ pool }) => (
      <>
        {count(pool.used)} of {count(pool.size)}
        {pool.waiting > 0 && <span className="bad">, {count(pool.waiting)} waiting</span>}
      </>
    ),
  },
  { id: 'migrations', header: 'Schema', kind: 'wide', cell: ({ migrations }) => <code>{migrations}</code> },
];

/** Every live process, and services of which none is. */
export function ServicesPage() {
  const { data, isLoading, error } = useResource('GET /admin/services', {}, 2_000);
  return (
    <Page title="Services">
      <Loading isLoading={isLoading} error={error} />
      {data && (
        <>
          <Gone services={data.gone} what="processes" />
          <DataTable
            label="Live processes"
            columns={columns}
            rows={data.data}
            rowKey={({ instance }) => instance}
            empty="No process replied."
            rowClass={({ waiting_for }) => (waiting_for ? 'late' : undefined)}
          />
        </>
      )}
    </Page>
  );
}

function Uptime({ since }: { since: string }) {
  const seconds = (useNow() - Date.parse(since)) / 1_000;
  return <span title={`Since ${exactTime(since)}`}>{duration(seconds)}</span>;
}
