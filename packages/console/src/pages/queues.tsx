import type { Queue } from '@customer-platform/contracts/accounts';
import { attentionText, lagLimitSeconds, needsAttention } from '@customer-platform/contracts/operators';
import { useState } from 'react';
import { queueName, useQueues } from '../queues.ts';
import { DepthLine } from '../ui/depth.tsx';
import { count, countOf, duration } from '../ui/format.ts';
import { Gone, noneOf } from '../ui/gone.tsx';
import { LastError } from '../ui/last-error.tsx';
import { DeadCount, QueueCount, QueueLink, ToQueue } from '../ui/links.tsx';
import { Loading, useLastError } from '../ui/lists.tsx';
import { Page, Section } from '../ui/page.tsx';
import { type Column, DataTable } from '../ui/table.tsx';
import { Tag } from '../ui/word.tsx';

const columns: Column<Queue>[] = [
  {
    id: 'queue',
    header: 'Queue',
    sortBy: queueName,
    cell: (queue) => (
      <>
        <QueueLink {...queue} /> <PauseTag queue={queue} />
      </>
    ),
  },
  {
    id: 'depth',
    header: 'Last hour',
    cell: (queue) => <DepthLine name={queueName(queue)} />,
  },
  {
    id: 'ready',
    header: 'Ready',
    word: 'ready',
    kind: 'number',
    sortBy: (queue) => queue.ready,
    cell: (queue) => <QueueCount {...queue} value={queue.ready} />,
  },
  {
    id: 'running',
    header: 'Running',
    word: 'running',
    kind: 'number',
    sortBy: (queue) => queue.running,
    cell: (queue) => <QueueCount {...queue} value={queue.running} />,
  },
  {
    id: 'waiting',
    header: 'Waiting',
    word: 'waiting',
    kind: 'number',
    sortBy: (queue) => queue.waiting,
    cell: (queue) => <QueueCount {...queue} value={queue.waiting} />,
  },
  {
    id: 'retrying',
    header: 'Retrying',
    word: 'retrying',
    kind: 'number',
    sortBy: (queue) => queue.failed_waiting ?? 0,
    cell: (queue) =>
      queue.failed_waiting === null ? (
        <span className="none">–</span>
      ) : (
        <QueueCount {...queue} value={queue.failed_waiting} />
      ),
  },
  {
    id: 'dead',
    header: 'Dead',
    word: 'dead',
    kind: 'number',
    sortBy: (queue) => queue.dead,
    cell: (queue) => <DeadCount {...queue} value={queue.dead} />,
  },
  {
    id: 'lag',
    header: 'Lag',
    word: 'lag',
    kind: 'number',
    sortBy: (queue) => queue.lag_seconds,
    cell: (queue) =>
      queue.lag_seconds < 1 ? (
        <Lag seconds={queue.lag_seconds} />
      ) : (
        <ToQueue {...queue}>
          <Lag seconds={queue.lag_seconds} />
        </ToQueue>
      ),
  },
  {
    id: 'error',
    header: 'Last error',
    kind: 'wide',
    cell: (queue) => <LastError queue={queue} />,
  },
];

/** All queues, live. The queues that need attention come first. The others are folded by service. */
export function QueuesPage() {
  const query = useQueues();
  const { data, isLoading } = query;
  const error = useLastError('queues', query);
  const [areOpen, setOpen] = useState(false);
  const urgent = data?.data.filter(needsAttention) ?? [];
  const others = Map.groupBy(data?.data.filter((queue) => !needsAttention(queue)) ?? [], ({ service }) => service);
  return (
    <Page title="Queues">
      <Loading isLoading={isLoading} error={data ? null : error} />
      {data && (
        <>
          <Gone services={data.gone} what="queues" />
          <Section
            title={data.gone.length > 0 && urgent.length === 0 ? 'Need attention' : `Need attention (${urgent.length})`}
          >
            <QueueTable
              label="Queues that need attention"
              queues={urgent}
              empty={noneOf(`No queues ${attentionText}.`, data.gone)}
            />
          </Section>
          <Section
            title="Others"
            actions={
              <button type="button" aria-pressed={areOpen} onClick={() => setOpen(!areOpen)}>
                {areOpen ? 'Fold all' : 'Unfold all'}
              </button>
            }
          >
            {[...others].map(([service, queues]) => (
              <Folded key={`${service} ${areOpen}`} service={service} queues={queues} isOpenAtFirst={areOpen} />
            ))}
            {others.size === 0 && <p className="panel empty">{noneOf('No other queues.', data.gone)}</p>}
          </Section>
        </>
      )}
    </Page>
  );
}

function QueueTable({ label, queues, empty }: { label: string; queues: Queue[]; empty: string }) {
  return (
    <DataTable
      label={label}
      columns={columns}
      rows={queues}
      rowKey={queueName}
      empty={empty}
      rowClass={(queue) => (queue.lag_seconds > lagLimitSeconds ? 'late' : undefined)}
    />
  );
}

/** The queues of a service that need no attention, folded to their number and total entries. */
function Folded(props: { service: string; queues: Queue[]; isOpenAtFirst: boolean }) {
  const { service, queues, isOpenAtFirst } = props;
  const [isOpen, setOpen] = useState(isOpenAtFirst);
  const sum = (value: (queue: Queue) => number) => queues.reduce((total, queue) => total + value(queue), 0);
  const counts = [
    [sum(({ ready }) => ready), 'ready'],
    [sum(({ running }) => running), 'running'],
    [sum(({ waiting }) => waiting), 'waiting'],
  ] as const;
  const held = counts.filter(([value]) => value > 0).map(([value, name]) => `${count(value)} ${name}`);
  return (
    <details className="fold" open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <span className="name">{service}</span>
        <span className="muted">{countOf(queues.length, 'queue')}</span>
        <span className={held.length > 0 ? undefined : 'muted'}>{held.join(', ') || 'nothing due or waiting'}</span>
      </summary>
      {isOpen && <QueueTable label={`Queues of ${service}`} queues={queues} empty="" />}
    </details>
  );
}

/** Age of the oldest due entry. */
export function Lag({ seconds }: { seconds: number }) {
  if (seconds < 1) return <span className="none">0 s</span>;
  return <span className={seconds > lagLimitSeconds ? 'bad' : undefined}>{duration(seconds)}</span>;
}

function PauseTag({ queue }: { queue: Queue }) {
  if (queue.paused) return <Tag kind="warn">paused</Tag>;
  return queue.pauses.length > 0 ? <Tag kind="warn">partly paused</Tag> : null;
}
