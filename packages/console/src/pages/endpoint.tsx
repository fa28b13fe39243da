import type { OperatedDelivery } from '@customer-platform/contracts/accounts';
import type { Output } from '../api.ts';
import { replayAction } from '../endpoint-actions.tsx';
import { EndpointActions, EndpointState } from '../endpoint-state.tsx';
import { deliveries, useGone } from '../queues.ts';
import { ActionButton } from '../ui/action.tsx';
import { readable } from '../ui/bytes.ts';
import { Id } from '../ui/copy.tsx';
import { count, idTime, sentence } from '../ui/format.ts';
import { Gone } from '../ui/gone.tsx';
import { EndpointError, ErrorLine } from '../ui/last-error.tsx';
import { AccountLink, ToQueue, TraceLink } from '../ui/links.tsx';
import { Loading, useResource } from '../ui/lists.tsx';
import { Facts, Page, Section } from '../ui/page.tsx';
import { type Column, DataTable } from '../ui/table.tsx';
import { Elapsed, RelativeAndClock } from '../ui/time.tsx';
import { Tag } from '../ui/word.tsx';

type EndpointWithDeliveries = Output<'GET /admin/endpoints/{endpoint_id}'>;

/** One webhook endpoint with its last deliveries. */
export function EndpointPage({ id }: { id: string }) {
  const { data, isLoading, error } = useResource('GET /admin/endpoints/{endpoint_id}', { params: { endpoint_id: id } });
  const gone = useGone(deliveries.service);
  const isGone = gone.length > 0;
  const actions = data && (
    <>
      <EndpointActions endpoint={data} />
      <ActionButton make={() => replayAction(data, missedSince(data))}>Replay</ActionButton>
    </>
  );
  return (
    <Page title={data?.url ?? 'Endpoint'} actions={actions}>
      <Gone services={gone} what="endpoints">
        {data && 'This page shows the last known state.'}
      </Gone>
      <Loading isLoading={isLoading && !isGone} error={isGone ? null : error} />
      {data && (
        <>
          {!data.active && (
            <p className="notice bad" role="status">
              <strong>Disabled</strong>: {sentence(data.disabled_reason ?? 'the reason is unknown')} It gets no events.
              Once its server works, enable it and replay the events that it missed.
            </p>
          )}
          <Facts
            facts={{
              State: <EndpointState endpoint={data} />,
              Account: <AccountLink id={data.account} />,
              ...(data.active ? { 'Failing for': <Elapsed since={data.failing_since} /> } : {}),
              Pending: (
                <ToQueue {...deliveries} by="endpoint">
                  {count(data.pending)}
                </ToQueue>
              ),
              'Last error': data.active ? <EndpointError endpoint={data} /> : <LastTry deliveries={data.deliveries} />,
              Events: data.events.join(', ') || 'all',
              ...(data.description === '' ? {} : { Description: data.description }),
              Id: <Id value={data.id} />,
            }}
          />
          <Section title="Last deliveries">
            <DataTable
              label="Last deliveries"
              columns={columns}
              rows={data.deliveries}
              rowKey={(delivery) => delivery.id}
              empty="No deliveries yet."
            />
          </Section>
        </>
      )}
    </Page>
  );
}

/** Returns the time in milliseconds of the first missed event among the shown deliveries; null if there is none. */
function missedSince({ failing_since, deliveries: shown }: EndpointWithDeliveries): number | null {
  const missed = shown.filter(({ status, error }) => status === 'failed' || status === 'skipped' || error !== null);
  const times = missed.map(({ id }) => idTime(id));
  if (failing_since) times.push(Date.parse(failing_since));
  return times.length > 0 ? Math.min(...times) : null;
}

/** The error of the last attempt. A disabled endpoint has no waiting deliveries, so it has no error of its own. */
function LastTry({ deliveries }: { deliveries: OperatedDelivery[] }) {
  const last = deliveries.find(({ response_status, error }) => response_status !== null || error !== null);
  return <ErrorLine text={last?.error ?? null} at={last?.at ?? null} trace={last?.trace_id ?? null} />;
}

const columns: Column<OperatedDelivery>[] = [
  { id: 'event', header: 'Event', cell: ({ event }) => event },
  { id: 'status', header: 'Status', cell: ({ status }) => <Status status={status} /> },
  {
    id: 'response',
    header: 'Response',
    cell: ({ response_status: status }) => {
      if (status === null) return <span className="none">–</span>;
      return <code className={status < 300 ? undefined : 'bad'}>{status}</code>;
    },
  },
  { id: 'tries', header: 'Attempts', kind: 'number', sortBy: ({ tries }) => tries, cell: Attempts },
  { id: 'at', header: 'Last attempt', cell: ({ at }) => <RelativeAndClock at={at} /> },
  { id: 'error', header: 'Error and response', kind: 'wide', cell: (delivery) => <Answer delivery={delivery} /> },
  {
    id: 'request',
    header: 'Request',
    cell: ({ trace_id }) => (trace_id ? <TraceLink id={trace_id} /> : <span className="none">–</span>),
  },
  { id: 'event-id', header: 'Event id', cell: (delivery) => <Id value={delivery.event_id} isShort /> },
];

/** The number of attempts, as a link to the trace that shows them. */
function Attempts({ tries, trace_id }: OperatedDelivery) {
  if (tries === 0 || !trace_id) return <span className="none">{count(tries)}</span>;
  return <TraceLink id={trace_id}>{count(tries)}</TraceLink>;
}

function Status({ status }: { status: string }) {
  if (status === 'delivered') return <Tag kind="good">{status}</Tag>;
  if (status === 'failed') {
    return (
      <Tag kind="bad" word="failed">
        failed
      </Tag>
    );
  }
  return <Tag>{status}</Tag>;
}

/** Why an attempt failed, and on request the beginning of the endpoint's response. */
function Answer({ delivery: { error, response } }: { delivery: OperatedDelivery }) {
  if (!response) return error ? <span className="error-text">{error}</span> : <span className="none">–</span>;
  return (
    <details className="change">
      <summary>{error ? <span className="error-text">{error}</span> : <span className="muted">response</span>}</summary>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: keyboard users need the focus to scroll */}
      <pre tabIndex={0}>{readable(response)}</pre>
    </details>
  );
}
