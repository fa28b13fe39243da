import type { QueuePause } from '@customer-platform/contracts/accounts';
import type { ReactNode } from 'react';
import { pauseAction, resumeAction, retryAction } from '../queue-actions.ts';
import { type NamedQueue, queueName, useGone } from '../queues.ts';
import { ActionButton } from '../ui/action.tsx';
import { DepthChart } from '../ui/depth.tsx';
import { count } from '../ui/format.ts';
import { Gone } from '../ui/gone.tsx';
import { LastError } from '../ui/last-error.tsx';
import { AccountLink, ActorLink, DeadCount, EndpointLink, useAccountNames } from '../ui/links.tsx';
import { Loading, useResource } from '../ui/lists.tsx';
import { Facts, Page, Section } from '../ui/page.tsx';
import { type Column, DataTable } from '../ui/table.tsx';
import { RelativeAndClock, Time } from '../ui/time.tsx';
import { type QueueWithShares, Shares, useTargets } from './queue-shares.tsx';
import { Lag } from './queues.tsx';

/** One queue with its shares by account or by endpoint. */
export function QueuePage({ service, queue, by }: NamedQueue & { by: 'account' | 'endpoint' }) {
  const input = { params: { service, queue }, query: { by } };
  const { data, isLoading, error } = useResource('GET /admin/queues/{service}/{queue}', input, 2_000);
  const name = queueName({ service, queue });
  const target = { service, queue, of: name };
  const gone = useGone(service);
  const isGone = gone.length > 0;
  const whole = data?.pauses.find((pause) => !pause.account && !pause.endpoint);
  const actions = data && (
    <>
      {whole ? (
        <ActionButton make={() => resumeAction(target, whole, data)}>Resume</ActionButton>
      ) : (
        <ActionButton make={() => pauseAction(target, data)}>Pause</ActionButton>
      )}
      <ActionButton make={() => retryAction(target, data)}>Retry</ActionButton>
    </>
  );
  return (
    <Page title={name} actions={actions}>
      <Gone services={gone} what="queues">
        {data && 'This page shows the last known state.'}
      </Gone>
      <Loading isLoading={isLoading && !isGone} error={isGone ? null : error} />
      {data && (
        <>
          <QueueFacts queue={data} />
          <DepthChart name={name} title="Entries" size="large" />
          <Pauses queue={data} />
          <Shares queue={data} by={by} />
        </>
      )}
    </Page>
  );
}

function QueueFacts({ queue }: { queue: QueueWithShares }) {
  return (
    <Facts
      facts={{
        Ready: <ToShares>{count(queue.ready)}</ToShares>,
        Running: <ToShares>{count(queue.running)}</ToShares>,
        Waiting: <ToShares>{count(queue.waiting)}</ToShares>,
        ...(queue.failed_waiting === null ? {} : { Retrying: <ToShares>{count(queue.failed_waiting)}</ToShares> }),
        Dead: <DeadCount {...queue} value={queue.dead} />,
        Lag: (
          <ToShares>
            <Lag seconds={queue.lag_seconds} />
          </ToShares>
        ),
        'Oldest due': <Time at={queue.oldest_due_at} />,
        'Last error': <LastError queue={queue} />,
      }}
    />
  );
}

/** A number of the queue, as a link to the shares below. */
function ToShares({ children }: { children: ReactNode }) {
  const show = () => {
    const shares = document.getElementById('shares');
    shares?.scrollIntoView();
    shares?.focus();
  };
  return (
    <button type="button" className="link" onClick={show}>
      {children}
    </button>
  );
}

function Pauses({ queue }: { queue: QueueWithShares }) {
  const names = useAccountNames();
  const targetOf = useTargets(queue);
  const columns: Column<QueuePause>[] = [
    {
      id: 'part',
      header: 'Paused',
      cell: ({ account, endpoint }) => {
        if (endpoint) return <EndpointLink id={endpoint} />;
        return account ? <AccountLink id={account} /> : 'the whole queue';
      },
    },
    { id: 'reason', header: 'Reason', kind: 'wide', cell: ({ reason }) => reason },
    {
      id: 'actor',
      header: 'By',
      cell: ({ actor }) => <ActorLink actor={actor} />,
    },
    { id: 'at', header: 'Since', cell: ({ at }) => <RelativeAndClock at={at} /> },
    {
      id: 'actions',
      header: '',
      kind: 'actions',
      cell: (pause) => {
        const target = targetOf(pause, names);
        const part = queue.top.find(
          ({ account, endpoint }) => account === pause.account && endpoint === pause.endpoint,
        );
        const depth = pause.account || pause.endpoint ? part : queue;
        return (
          <ActionButton label={`Resume ${target.of}`} make={() => resumeAction(target, pause, depth)}>
            Resume
          </ActionButton>
        );
      },
    },
  ];
  if (queue.pauses.length === 0) return null;
  return (
    <Section title="Pauses">
      <DataTable
        label="Pauses"
        columns={columns}
        rows={queue.pauses}
        rowKey={({ account, endpoint }) => `${account} ${endpoint}`}
        empty=""
      />
    </Section>
  );
}
