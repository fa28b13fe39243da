import type { Queue } from '@customer-platform/contracts/accounts';
import { Link } from '@tanstack/react-router';
import { type AttentionItem, useAttention } from '../attention.ts';
import { deliveries } from '../queues.ts';
import { countOf, duration } from '../ui/format.ts';
import { BusGone } from '../ui/gone.tsx';
import { AccountLink, EndpointLink, QueueLink, TraceLink } from '../ui/links.tsx';
import { Loading, More } from '../ui/lists.tsx';
import { Page } from '../ui/page.tsx';
import { type Column, DataTable } from '../ui/table.tsx';
import { Time } from '../ui/time.tsx';

const labels = { bus: 'Gone', gone: 'Gone', lag: 'Lag', failing: 'Failing', dead: 'Dead', paused: 'Paused' } as const;

const columns: Column<AttentionItem>[] = [
  {
    id: 'kind',
    header: 'Problem',
    cell: ({ kind }) => <span className={`tag ${kind === 'paused' ? 'warn' : 'bad'}`}>{labels[kind]}</span>,
  },
  { id: 'where', header: 'Where', cell: (item) => <Where item={item} /> },
  {
    id: 'what',
    header: 'What',
    kind: 'wide',
    cell: (item) => (
      <span className="prose">
        <What item={item} />
      </span>
    ),
  },
];

/** Everything that needs attention now; each line leads to its thing. */
export function AttentionPage() {
  const { items, isLoading, error, failing } = useAttention();
  return (
    <Page title={items.length > 0 ? `Attention (${items.length})` : 'Attention'}>
      <Loading isLoading={isLoading} error={error} />
      {!isLoading && !error && (
        <DataTable
          label="What needs attention"
          columns={columns}
          rows={items}
          rowKey={({ key }) => key}
          empty={<strong className="good">Nothing needs attention.</strong>}
        />
      )}
      <More list={failing} />
    </Page>
  );
}

function Where({ item }: { item: AttentionItem }) {
  if (item.kind === 'bus') return <Link to="/services">bus</Link>;
  if (item.kind === 'gone') return <Link to="/services">{item.service}</Link>;
  if (item.kind !== 'failing') return <QueueLink {...item.queue} />;
  const { id } = item.endpoint;
  return (
    <>
      endpoint <EndpointLink id={id} />
    </>
  );
}

function What({ item }: { item: AttentionItem }) {
  switch (item.kind) {
    case 'bus':
      return <BusGone isFromDatabase />;
    case 'gone':
      return <>No process of this service replied within 1 s.</>;
    case 'lag':
      return (
        <>
          Oldest due entry is {duration(item.queue.lag_seconds)} old,{' '}
          <ToQueue queue={item.queue}>{countOf(item.queue.ready, 'entry', 'entries')}</ToQueue> ready.{' '}
          <LastError text={item.queue.last_error} at={item.queue.last_error_at} />
        </>
      );
    case 'paused':
      return <Pauses item={item} />;
    case 'dead':
      return (
        <>
          <Link to="/dead" search={{ service: item.queue.service, queue: item.queue.queue }}>
            {countOf(item.queue.dead, 'dead event')}
          </Link>{' '}
          <LastError text={item.queue.last_error} at={item.queue.last_error_at} />
        </>
      );
    case 'failing':
      return (
        <>
          <AccountLink id={item.endpoint.account} /> · {item.endpoint.url} · failing since{' '}
          <Time at={item.endpoint.failing_since} /> ·{' '}
          <Link to="/queues/$service/$queue" params={deliveries} search={{ by: 'endpoint' }}>
            {countOf(item.endpoint.pending, 'delivery', 'deliveries')}
          </Link>{' '}
          pending. <LastError text={item.endpoint.last_error} at={item.endpoint.last_error_at} />{' '}
          <TraceLink id={item.endpoint.last_error_trace_id} />
        </>
      );
  }
}

function Pauses({ item }: { item: Extract<AttentionItem, { kind: 'paused' }> }) {
  const [first, ...others] = item.queue.pauses;
  if (!first) return null;
  const part = first.endpoint ? 'One endpoint' : first.account ? 'One account' : 'The whole queue';
  return (
    <>
      {part} is paused by {first.actor}, <Time at={first.at} />: “{first.reason}”
      {others.length > 0 && (
        <>
          {' '}
          and <ToQueue queue={item.queue}>{countOf(others.length, 'more pause')}</ToQueue>
        </>
      )}
    </>
  );
}

/** Words that lead to a queue. */
function ToQueue({ queue: { service, queue }, children }: { queue: Queue; children: string }) {
  return (
    <Link to="/queues/$service/$queue" params={{ service, queue }} search={{ by: 'account' }}>
      {children}
    </Link>
  );
}

/** The last error with its age, which tells one that is over from one that goes on. */
function LastError({ text, at }: { text: string | undefined; at: string | undefined }) {
  if (!text) return null;
  return (
    <>
      <span className="error-text">{text}</span> {at && <Time at={at} />}
    </>
  );
}
