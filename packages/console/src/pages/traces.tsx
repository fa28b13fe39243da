import type { TraceSummary } from '@customer-platform/contracts/accounts';
import { Link, useNavigate } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { Filters } from '../ui/filters.tsx';
import { count, milliseconds } from '../ui/format.ts';
import { AccountLink } from '../ui/links.tsx';
import { Loading, More, useList } from '../ui/lists.tsx';
import { Page } from '../ui/page.tsx';
import { type Column, DataTable } from '../ui/table.tsx';
import { Time } from '../ui/time.tsx';
import { TraceRefusal } from '../ui/trace-refusal.tsx';

const fields = [
  { name: 'operation', label: 'Operation', maxLength: 200 },
  { name: 'status', label: 'Status', options: ['', 'ok', 'error'] },
  { name: 'min_duration_ms', label: 'At least (ms)', type: 'number' as const, min: 0, max: 86_400_000 },
  { name: 'account', label: 'Account id', maxLength: 36 },
];

const columns: Column<TraceSummary>[] = [
  {
    id: 'operation',
    header: 'Operation',
    kind: 'wide',
    cell: ({ trace_id, operation }) => (
      <Link to="/traces/$id" params={{ id: trace_id }}>
        {operation ?? 'no operation'}
      </Link>
    ),
  },
  {
    id: 'status',
    header: 'Status',
    cell: ({ status }) => (status === 'error' ? <span className="tag bad">error</span> : <span>ok</span>),
  },
  { id: 'account', header: 'Account', cell: ({ account }) => <AccountLink id={account} /> },
  {
    id: 'duration',
    header: 'Duration',
    kind: 'number',
    sortBy: (trace) => trace.duration_ms,
    cell: ({ trace_id, duration_ms }) => (
      <Link to="/traces/$id" params={{ id: trace_id }}>
        {milliseconds(duration_ms)}
      </Link>
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
  { id: 'started', header: 'Started', cell: ({ started_at }) => <Time at={started_at} /> },
  {
    id: 'request',
    header: 'Request',
    cell: ({ request_id }) =>
      request_id ? (
        <Link to="/traces/$id" params={{ id: request_id }} className="id">
          {request_id}
        </Link>
      ) : (
        <span className="none">–</span>
      ),
  },
];

/** Filters as the page's address has them: texts. */
export interface TraceFilters {
  account?: string;
  operation?: string;
  status?: string;
  min_duration_ms?: string;
}

/** Traces of the last minutes, newest first. */
export function TracesPage({ filters }: { filters: TraceFilters }) {
  const { account, operation, status, min_duration_ms } = filters;
  const list = useList('GET /admin/traces', {
    query: {
      account,
      operation,
      status: status === 'ok' || status === 'error' ? status : undefined,
      min_duration_ms: min_duration_ms === undefined ? undefined : Number(min_duration_ms),
    },
  });
  return (
    <Page title="Traces">
      <OpenTrace />
      <Filters fields={fields} values={{ ...filters }} />
      {list.error ? <TraceRefusal error={list.error} /> : <Loading {...list} />}
      {list.isLoaded && (
        <DataTable
          label="Traces"
          columns={columns}
          rows={list.items}
          rowKey={({ trace_id }) => trace_id}
          empty="No trace of the last minutes matches."
        />
      )}
      <More list={list} />
    </Page>
  );
}

function OpenTrace() {
  const navigate = useNavigate();
  const [id, setId] = useState('');
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (id.trim() !== '') void navigate({ to: '/traces/$id', params: { id: id.trim() } });
  };
  return (
    <form className="filters" onSubmit={submit}>
      <div className="field">
        <label htmlFor="trace-id">Trace id or Request-Id</label>
        <input id="trace-id" autoComplete="off" value={id} onChange={(event) => setId(event.target.value)} />
      </div>
      <button type="submit">Open</button>
    </form>
  );
}
