import { isBusGone } from '@customer-platform/contracts/operators';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { type SeenProcess, useProcesses } from '../processes.ts';
import { Id } from '../ui/copy.tsx';
import { bytes, count, duration, milliseconds } from '../ui/format.ts';
import { Gone } from '../ui/gone.tsx';
import { Loading, useLastError } from '../ui/lists.tsx';
import { Page } from '../ui/page.tsx';
import { type Column, DataTable } from '../ui/table.tsx';
import { ClockTime, exactTime, useNow } from '../ui/time.tsx';
import { Tag } from '../ui/word.tsx';

/** Event loop lag in milliseconds from which requests are noticeably delayed. */
const longLagMs = 200;

const columns: Column<SeenProcess>[] = [
  {
    id: 'service',
    header: 'Service',
    sortBy: ({ service }) => service,
    cell: ({ service, waiting_for, refused, state, seen_at }) => (
      <>
        {service}{' '}
        {state !== 'live' && (
          <>
            <Tag kind={state === 'gone' ? 'bad' : 'warn'} word={state}>
              {state}
            </Tag>{' '}
            last seen <ClockTime at={seen_at} />
          </>
        )}
        {state === 'live' && waiting_for && <Tag kind="bad">{`waits for ${waiting_for}`}</Tag>}
        {state === 'live' && refused.length > 0 && <Refused refused={refused} />}
      </>
    ),
  },
  { id: 'instance', header: 'Instance', cell: ({ instance }) => <Id value={instance} isShort /> },
  {
    id: 'host',
    header: 'Host',
    cell: ({ host, pid }) => <span className="line">{pid === null ? host : `${host}, pid ${pid}`}</span>,
  },
  { id: 'version', header: 'Version', cell: ({ version }) => version },
  {
    id: 'up',
    header: 'Up',
    kind: 'number',
    sortBy: ({ started_at }) => -Date.parse(started_at),
    cell: (process) => (
      <Live process={process}>
        <Uptime since={process.started_at} />
      </Live>
    ),
  },
  {
    id: 'requests',
    header: 'In flight',
    kind: 'number',
    sortBy: ({ in_flight }) => in_flight,
    cell: (process) => (
      <Live process={process}>
        {process.in_flight === 0 ? (
          <span className="none">0</span>
        ) : (
          <Link to="/traces">{count(process.in_flight)}</Link>
        )}
      </Live>
    ),
  },
  {
    id: 'loop',
    header: 'Loop lag',
    kind: 'number',
    sortBy: (process) => process.event_loop_lag_ms,
    cell: (process) => (
      <Live process={process}>
        <span className={process.event_loop_lag_ms > longLagMs ? 'warn-text' : undefined}>
          {milliseconds(process.event_loop_lag_ms)}
        </span>
      </Live>
    ),
  },
  {
    id: 'memory',
    header: 'Memory',
    kind: 'number',
    sortBy: (process) => process.memory_bytes,
    cell: (process) => <Live process={process}>{bytes(process.memory_bytes)}</Live>,
  },
  {
    id: 'pool',
    header: 'Connections',
    kind: 'number',
    sortBy: ({ pool }) => pool.used,
    cell: (process) => (
      <Live process={process}>
        <Connections process={process} />
      </Live>
    ),
  },
  { id: 'migrations', header: 'Schema', kind: 'wide', cell: ({ migrations }) => <code>{migrations}</code> },
];

/** A measurement of a live process. For any other process a dash, since its last measurement is outdated. */
function Live({ process, children }: { process: SeenProcess; children: ReactNode }) {
  return process.state === 'live' ? children : <span className="none">–</span>;
}

function Connections({ process: { pool } }: { process: SeenProcess }) {
  return (
    <>
      {count(pool.used)} of {count(pool.size)}
      {pool.waiting > 0 && <span className="bad">, {count(pool.waiting)} blocked</span>}
    </>
  );
}

/** All live processes, and the last known processes of gone services. */
export function ServicesPage() {
  const query = useProcesses(2_000);
  const { data, isLoading } = query;
  const error = useLastError('services', query);
  return (
    <Page title="Services">
      <Loading isLoading={isLoading} error={error} />
      {data && (
        <>
          <Gone services={data.gone} what="processes" isOnServices>
            {isBusGone(data.gone) ? '' : 'The table shows their last known processes since you opened this console.'}
          </Gone>
          <DataTable
            label="Live processes"
            columns={columns}
            rows={data.data}
            rowKey={({ instance }) => instance}
            empty="No process replied."
            rowClass={({ state, waiting_for }) => (state === 'gone' || waiting_for ? 'late' : undefined)}
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

/** Operations that a process announces and the gateway does not route to. */
function Refused({ refused }: { refused: SeenProcess['refused'] }): ReactNode {
  const texts = refused.map(({ route, reason }) => (route === null ? reason : `${route}: ${reason}`));
  return (
    <>
      <span className="tag bad">not routed</span> {texts.join('; ')}
    </>
  );
}
