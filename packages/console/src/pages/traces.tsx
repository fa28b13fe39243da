import type { TraceSummary } from '@customer-platform/contracts/accounts';
import { Link } from '@tanstack/react-router';
import { Id } from '../ui/copy.tsx';
import { Filters } from '../ui/filters.tsx';
import { count, milliseconds } from '../ui/format.ts';
import { AccountLink } from '../ui/links.tsx';
import { Loading, More, useList } from '../ui/lists.tsx';
import { Page } from '../ui/page.tsx';
import { type Column, DataTable } from '../ui/table.tsx';
import { RelativeAndClock } from '../ui/time.tsx';
import { TraceRefusal } from '../ui/trace-refusal.tsx';

const durations = { type: 'number' as const, min: 0, max: 86_400_000 };
const statuses = ['', '2xx', '3xx', '4xx', '400', '401', '403', '404', '405', '409', '429', '5xx', '500', '503'];
const fields = [
  { name: 'status_code', label: 'Response', options: statuses },
  { name: 'operation', label: 'Operation', maxLength: 200 },
  {
    name: 'unauthenticated',
    label: 'Without a valid key',
    options: ['', 'true'],
    labels: { '': 'hidden', true: 'shown' },
  },
  { name: 'request_status', label: 'Status', options: ['', 'ok', 'error'] },
  { name: 'request_min_duration_ms', label: 'At least (ms)', ...durations },
  { name: 'status', label: 'Whole trace', options: ['', 'ok', 'error'] },
  { name: 'min_duration_ms', label: 'Whole at least (ms)', ...durations },
  { name: 'account', label: 'Account id', maxLength: 36 },
];

const columns: Column<TraceSummary>[] = [
  {
    id: 'operation',
    header: 'Operation',
    kind: 'wide',
    cell: ({ trace_id, operation, request }) => (
      <Link to="/traces/$id" params={{ id: trace_id }}>
        {operation ?? request ?? 'no operation'}
      </Link>
    ),
  },
  {
    id: 'status',
    header: 'Response',
    cell: (trace) => <Response trace={trace} />,
  },
  { id: 'account', header: 'Account', cell: ({ account }) => <AccountLink id={account} /> },
  {
    id: 'duration',
    header: 'Duration',
    kind: 'number',
    sortBy: (trace) => trace.request_duration_ms ?? 0,
    cell: ({ trace_id, request_duration_ms: ms }) =>
      ms === null ? (
        <span className="none">–</span>
      ) : (
        <Link to="/traces/$id" params={{ id: trace_id }}>
          {milliseconds(ms)}
        </Link>
      ),
  },
  {
    id: 'whole',
    header: 'Whole trace',
    kind: 'number',
    sortBy: (trace) => trace.duration_ms,
    cell: ({ trace_id, status, duration_ms }) => (
      <>
        {status === 'error' && <Status status={status} />}{' '}
        <Link to="/traces/$id" params={{ id: trace_id }}>
          {milliseconds(duration_ms)}
        </Link>
      </>
    ),
  },
  {
    id: 'spans',
    header: 'Spans',
    kind: 'number',
    sortBy: ({ spans }) => spans,
    cell: ({ trace_id, spans }) => (
      <Link to="/traces/$id" params={{ id: trace_id }}>
        {count(spans)}
      </Link>
    ),
  },
  { id: 'started', header: 'Started', cell: ({ started_at }) => <RelativeAndClock at={started_at} /> },
  {
    id: 'request',
    header: 'Request',
    cell: ({ request_id }) => (request_id ? <Id value={request_id} isShort /> : <span className="none">–</span>),
  },
];

/** A response's status and error code. A trace from an older version only shows whether the request failed. */
function Response({ trace: { status_code: status, error_code, request_status, account } }: { trace: TraceSummary }) {
  if (status === null) return <Status status={request_status} />;
  const kind = status >= 500 ? 'tag bad' : status >= 400 ? 'tag warn' : 'tag good';
  return (
    <>
      <span className={kind}>{status}</span> {error_code && <code>{error_code}</code>}
      {/* Without an account, the 429 is the limit of invalid keys per address. */}
      {error_code === 'rate_limited' && account === null && <span className="muted"> invalid key</span>}
    </>
  );
}

/** The status of a request or a trace; a dash if there is none. */
function Status({ status }: { status: TraceSummary['request_status'] }) {
  if (status === null) return <span className="none">–</span>;
  return status === 'error' ? <span className="tag bad">error</span> : <span>ok</span>;
}

/** Filters as strings from the URL. */
export interface TraceFilters {
  account?: string;
  operation?: string;
  request_status?: string;
  request_min_duration_ms?: string;
  status?: string;
  min_duration_ms?: string;
  status_code?: string;
  unauthenticated?: string;
}

/** Traces of recent requests, newest first. Ctrl-K finds a request by its id. */
export function TracesPage({ filters }: { filters: TraceFilters }) {
  const { account, operation } = filters;
  const list = useList('GET /admin/traces', {
    query: {
      account,
      operation,
      request_status: statusNamed(filters.request_status),
      request_min_duration_ms: numberIn(filters.request_min_duration_ms),
      status: statusNamed(filters.status),
      status_code: filters.status_code,
      unauthenticated: filters.unauthenticated === 'true' ? true : undefined,
      min_duration_ms: numberIn(filters.min_duration_ms),
    },
  });
  return (
    <Page title="Traces">
      <Filters fields={fields} values={{ ...filters }} />
      {list.error ? <TraceRefusal error={list.error} /> : <Loading {...list} />}
      {list.isLoaded && (
        <DataTable
          label="Traces"
          columns={columns}
          rows={list.items}
          rowKey={({ trace_id }) => trace_id}
          empty="No recent traces match."
        />
      )}
      <More list={list} />
    </Page>
  );
}

function statusNamed(text: string | undefined): TraceSummary['status'] | undefined {
  return text === 'ok' || text === 'error' ? text : undefined;
}

function numberIn(text: string | undefined): number | undefined {
  return text === undefined ? undefined : Number(text);
}
