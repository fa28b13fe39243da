import type { Queue } from '@customer-platform/contracts/accounts';
import { Link } from '@tanstack/react-router';
import { type AttentionItem, useAttention } from '../attention.ts';
import type { SeenProcess } from '../processes.ts';
import { deliveries } from '../queues.ts';
import { countOf, duration } from '../ui/format.ts';
import { Runbook } from '../ui/gone.tsx';
import { EndpointError, LastError } from '../ui/last-error.tsx';
import { AccountLink, EndpointLink, QueueLink, ToQueue } from '../ui/links.tsx';
import { Failed, Loading, More } from '../ui/lists.tsx';
import { Page } from '../ui/page.tsx';
import { type Column, DataTable } from '../ui/table.tsx';
import { Age, Elapsed, RelativeAndClock } from '../ui/time.tsx';

const labels = {
  gone: 'Gone',
  waiting: 'Waiting',
  lag: 'Lag',
  failing: 'Failing',
  dead: 'Dead',
  failed: 'Failed',
  paused: 'Paused',
} as const;

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
  { id: 'runbook', header: 'Runbook', cell: ({ runbook }) => <Runbook name={runbook} /> },
];

/** Everything that needs attention now, as far as it is known; each line leads to its thing. */
export function AttentionPage() {
  const { items, queues, processes, failing, checkedAt } = useAttention();
  const sources = [queues, processes, failing];
  const isLoading = sources.some(({ isLoaded, error }) => !isLoaded && !error);
  const isKnown = sources.every(({ isLoaded, error }) => isLoaded && !error);
  return (
    <Page title={items.length > 0 ? `Attention (${items.length})` : 'Attention'}>
      <FailedSource what="Failing endpoints" source={failing} besides={queues.error} />
      <FailedSource what="Processes" source={processes} besides={queues.error} />
      {(items.length > 0 || !isLoading) && (
        <DataTable
          label="What needs attention"
          columns={columns}
          rows={items}
          rowKey={({ key }) => key}
          empty={
            isKnown ? (
              <>
                <strong className="good">Nothing needs attention.</strong> Checked <Age at={checkedAt} />.
              </>
            ) : (
              'Nothing is known to need attention, but not everything responded.'
            )
          }
        />
      )}
      <Loading isLoading={isLoading} error={null} />
      <More list={failing} />
    </Page>
  );
}

/** Says that a source does not respond, unless the error is one that the page shows already: `besides`. */
function FailedSource(props: {
  what: string;
  source: { isLoaded: boolean; error: Error | null };
  besides: Error | null;
}) {
  const { what, source, besides } = props;
  if (!source.error || source.error.message === besides?.message) return null;
  return (
    <Failed error={source.error}>
      {what} {source.isLoaded ? 'may be out of date' : 'are unknown'}:{' '}
    </Failed>
  );
}

function Where({ item }: { item: AttentionItem }) {
  if (item.kind === 'gone') return <Link to="/services">{item.service}</Link>;
  if (item.kind === 'waiting') return <ProcessLink process={item.process} />;
  if (item.kind !== 'failing') return <QueueLink {...item.queue} />;
  const { id } = item.endpoint;
  return (
    <>
      endpoint <EndpointLink id={id} />
    </>
  );
}

function ProcessLink({ process: { service, host, pid } }: { process: SeenProcess }) {
  return (
    <>
      <Link to="/services" className="in-text">
        {service}
      </Link>{' '}
      on {host}
      {pid !== null && `, pid ${pid}`}
    </>
  );
}

function What({ item }: { item: AttentionItem }) {
  switch (item.kind) {
    case 'gone':
      return `${item.text.who}: ${item.text.so}.`;
    case 'waiting':
      return `${item.text[0]!.toUpperCase()}${item.text.slice(1)}.`;
    case 'lag':
      return (
        <>
          Oldest due entry is {duration(item.queue.lag_seconds)} old,{' '}
          <ToQueue {...item.queue}>{countOf(item.queue.ready, 'entry', 'entries')}</ToQueue> ready.{' '}
          {item.queue.last_error && <LastError queue={item.queue} />}
        </>
      );
    case 'paused':
      return <Pauses queue={item.queue} />;
    case 'dead':
      return (
        <>
          <Link to="/dead" search={{ service: item.queue.service, queue: item.queue.queue }}>
            {countOf(item.queue.dead, 'dead event')}
          </Link>{' '}
          {item.queue.last_error && <LastError queue={item.queue} />}
        </>
      );
    case 'failed':
      return (
        <>
          <ToQueue {...item.queue}>{countOf(item.queue.failed_waiting ?? 0, 'entry', 'entries')}</ToQueue> wait for
          another try. {item.queue.last_error && <LastError queue={item.queue} />}
        </>
      );
    case 'failing':
      return (
        <>
          <AccountLink id={item.endpoint.account} /> · {item.endpoint.url} · failing for{' '}
          <Elapsed since={item.endpoint.failing_since} /> ·{' '}
          <ToQueue {...deliveries} by="endpoint">
            {countOf(item.endpoint.pending, 'delivery', 'deliveries')}
          </ToQueue>{' '}
          pending. {item.endpoint.last_error && <EndpointError endpoint={item.endpoint} />}
        </>
      );
  }
}

function Pauses({ queue }: { queue: Queue }) {
  const [first, ...others] = queue.pauses;
  if (!first) return null;
  const part = first.endpoint ? 'One endpoint' : first.account ? 'One account' : 'The whole queue';
  return (
    <>
      {part} is paused by {first.actor}, <RelativeAndClock at={first.at} />: “{first.reason}”
      {others.length > 0 && (
        <>
          {' '}
          and <ToQueue {...queue}>{countOf(others.length, 'more pause')}</ToQueue>
        </>
      )}
    </>
  );
}
