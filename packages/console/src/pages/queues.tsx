import type { Queue } from '@customer-platform/contracts/accounts';
import { attentionText, lagLimitSeconds, needsAttention } from '@customer-platform/contracts/operators';
import { Link } from '@tanstack/react-router';
import { depthOf, queueName, useQueues } from '../queues.ts';
import { count, duration } from '../ui/format.ts';
import { Gone, noneOf } from '../ui/gone.tsx';
import { LastError } from '../ui/last-error.tsx';
import { DepthLine } from '../ui/line.tsx';
import { DeadCount, QueueCount, QueueLink, ToQueue } from '../ui/links.tsx';
import { Loading, useLastError } from '../ui/lists.tsx';
import { Page } from '../ui/page.tsx';
import { type Column, DataTable } from '../ui/table.tsx';

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
    cell: (queue) => <DepthLine name={queueName(queue)} depth={depthOf(queue)} />,
  },
  {
    id: 'ready',
    header: 'Ready',
    kind: 'number',
    sortBy: (queue) => queue.ready,
    cell: (queue) => <QueueCount {...queue} value={queue.ready} />,
  },
  {
    id: 'running',
    header: 'Running',
    kind: 'number',
    sortBy: (queue) => queue.running,
    cell: (queue) => <QueueCount {...queue} value={queue.running} />,
  },
  {
    id: 'waiting',
    header: 'Waiting',
    kind: 'number',
    sortBy: (queue) => queue.waiting,
    cell: (queue) => <QueueCount {...queue} value={queue.waiting} />,
  },
  {
    id: 'failed',
    header: 'Failed',
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
    kind: 'number',
    sortBy: (queue) => queue.dead,
    cell: (queue) => <DeadCount {...queue} value={queue.dead} />,
  },
  {
    id: 'lag',
    header: 'Lag',
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

/** Every queue of every service, live; or those that need attention. */
export function QueuesPage({ only }: { only: 'attention' | undefined }) {
  const query = useQueues();
  const { data, isLoading } = query;
  const error = useLastError('queues', query);
  const needy = data?.data.filter(needsAttention) ?? [];
  return (
    <Page title="Queues">
      <Loading isLoading={isLoading} error={data ? null : error} />
      {data && (
        <>
          <Gone services={data.gone} what="queues" />
          <p className="switch">
            <Link to="/queues" search={{}} className={only ? undefined : 'current'}>
              all ({count(data.data.length)})
            </Link>
            <Link to="/queues" search={{ only: 'attention' }} className={only ? 'current' : undefined}>
              only what needs attention ({count(needy.length)})
            </Link>
          </p>
          <DataTable
            label="Queues"
            columns={columns}
            rows={only ? needy : data.data}
            rowKey={queueName}
            empty={noneOf(`No queues ${attentionText}.`, data.gone)}
            rowClass={(queue) => (queue.lag_seconds > lagLimitSeconds ? 'late' : undefined)}
          />
        </>
      )}
    </Page>
  );
}

/** Age of the oldest due entry. */
export function Lag({ seconds }: { seconds: number }) {
  if (seconds < 1) return <span className="none">0 s</span>;
  return <span className={seconds > lagLimitSeconds ? 'bad' : undefined}>{duration(seconds)}</span>;
}

function PauseTag({ queue }: { queue: Queue }) {
  if (queue.paused) return <span className="tag warn">paused</span>;
  return queue.pauses.length > 0 ? <span className="tag warn">partly paused</span> : null;
}
