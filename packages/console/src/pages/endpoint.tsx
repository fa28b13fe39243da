import type { OperatedDelivery } from '@customer-platform/contracts/accounts';
import { replayAction } from '../endpoint-actions.ts';
import { EndpointActions, EndpointState } from '../endpoint-state.tsx';
import { deliveries } from '../queues.ts';
import { ActionButton } from '../ui/action.tsx';
import { readable } from '../ui/bytes.ts';
import { Id } from '../ui/copy.tsx';
import { count, sentence } from '../ui/format.ts';
import { EndpointError } from '../ui/last-error.tsx';
import { AccountLink, ToQueue, TraceLink } from '../ui/links.tsx';
import { Loading, useResource } from '../ui/lists.tsx';
import { Facts, Page, Section } from '../ui/page.tsx';
import { type Column, DataTable } from '../ui/table.tsx';
import { Elapsed, RelativeAndClock } from '../ui/time.tsx';
import { Tag } from '../ui/word.tsx';

/** One webhook endpoint with its last deliveries. */
export function EndpointPage({ id }: { id: string }) {
  const { data, isLoading, error } = useResource('GET /admin/endpoints/{endpoint_id}', { params: { endpoint_id: id } });
  const actions = data && (
    <>
      <EndpointActions endpoint={data} />
      <ActionButton make={() => replayAction(data)}>Replay</ActionButton>
    </>
  );
  return (
    <Page title={data?.url ?? 'Endpoint'} actions={actions}>
      <Loading isLoading={isLoading} error={error} />
      {data && (
        <>
          {!data.active && (
            <p className="notice bad" role="status">
              <strong>Disabled</strong>: {sentence(data.disabled_reason ?? 'no reason is known')} No event is sent to
              it; enable it once its server is well, then replay what it missed.
            </p>
          )}
          <Facts
            facts={{
              State: <EndpointState endpoint={data} />,
              Account: <AccountLink id={data.account} />,
              'Failing for': <Elapsed since={data.failing_since} />,
              Pending: (
                <ToQueue {...deliveries} by="endpoint">
                  {count(data.pending)}
                </ToQueue>
              ),
              'Last error': <EndpointError endpoint={data} />,
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
              empty="Nothing was sent to this endpoint yet."
            />
          </Section>
        </>
      )}
    </Page>
  );
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
  { id: 'tries', header: 'Tries', kind: 'number', sortBy: ({ tries }) => tries, cell: Tries },
  { id: 'at', header: 'Last try', cell: ({ at }) => <RelativeAndClock at={at} /> },
  { id: 'error', header: 'Error and response', kind: 'wide', cell: (delivery) => <Answer delivery={delivery} /> },
  {
    id: 'request',
    header: 'Request',
    cell: ({ trace_id }) => (trace_id ? <TraceLink id={trace_id} /> : <span className="none">–</span>),
  },
  { id: 'event-id', header: 'Event id', cell: (delivery) => <Id value={delivery.event_id} isShort /> },
];

/** Number of tries, which leads to the trace that shows each. */
function Tries({ tries, trace_id }: OperatedDelivery) {
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

/** Why a try failed, and on request the beginning of what the endpoint responded. */
function Answer({ delivery: { error, response } }: { delivery: OperatedDelivery }) {
  if (!response) return error ? <span className="error-text">{error}</span> : <span className="none">–</span>;
  return (
    <details className="change">
      <summary>{error ? <span className="error-text">{error}</span> : <span className="muted">response</span>}</summary>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, and must by keyboard too */}
      <pre tabIndex={0}>{readable(response)}</pre>
    </details>
  );
}
