import type { QueuePause, QueueShare } from '@customer-platform/contracts/accounts';
import { Link } from '@tanstack/react-router';
import { useMemo } from 'react';
import type { Output } from '../api.ts';
import type { Word } from '../language.ts';
import { pauseAction, type QueueTarget, resumeAction, retryAction } from '../queue-actions.ts';
import { deliveries, type NamedQueue, queueName } from '../queues.ts';
import { ActionButton } from '../ui/action.tsx';
import { shortId } from '../ui/format.ts';
import { ErrorLine } from '../ui/last-error.tsx';
import { AccountLink, DeadCount, EndpointLink, PartCount, useAccountNames } from '../ui/links.tsx';
import { Section } from '../ui/page.tsx';
import { type Column, DataTable } from '../ui/table.tsx';
import { Time } from '../ui/time.tsx';

export type QueueWithShares = Output<'GET /admin/queues/{service}/{queue}'>;

/** Returns a function that returns the target of an action for a pause or share of a queue. */
export function useTargets({ service, queue }: NamedQueue) {
  return useMemo(() => {
    const name = queueName({ service, queue });
    return (part: QueuePause | QueueShare, names: Map<string, string>): QueueTarget => {
      const { account, endpoint } = part;
      const owner = account && (names.get(account) ?? `account ${shortId(account)}`);
      const of = endpoint ? `${name} of endpoint ${shortId(endpoint)}` : owner ? `${name} of ${owner}` : name;
      return { service, queue, account, endpoint, of };
    };
  }, [service, queue]);
}

/** Shares of a queue by account or endpoint, with their actions. */
export function Shares({ queue, by }: { queue: QueueWithShares; by: 'account' | 'endpoint' }) {
  const names = useAccountNames();
  const targetOf = useTargets(queue);
  const hasEndpoints = queue.service === deliveries.service && queue.queue === deliveries.queue;
  return (
    <Section
      id="shares"
      title={`Entries by ${by}`}
      actions={
        hasEndpoints && (
          <span className="switch">
            {(['account', 'endpoint'] as const).map((each) => (
              <Link key={each} to="." search={{ by: each }} className={each === by ? 'current' : undefined}>
                by {each}
              </Link>
            ))}
          </span>
        )
      }
    >
      <DataTable
        label={`Entries by ${by}`}
        columns={shareColumns(queue, (part) => targetOf(part, names))}
        rows={queue.top}
        rowKey={({ account, endpoint }) => `${account} ${endpoint}`}
        empty="The queue is empty."
      />
      {queue.top.length === 100 && <p className="hint">Only the 100 with the most entries are shown.</p>}
    </Section>
  );
}

function shareColumns(queue: QueueWithShares, targetOf: (part: QueueShare) => QueueTarget): Column<QueueShare>[] {
  const isByEndpoint = queue.top.some(({ endpoint }) => endpoint !== null);
  const numberColumn = (
    id: 'ready' | 'running' | 'waiting' | 'failed_waiting',
    header: string,
    word: Word,
  ): Column<QueueShare> => ({
    id,
    header,
    word,
    kind: 'number',
    sortBy: (part) => part[id] ?? 0,
    cell: ({ account, endpoint, [id]: value }) => (
      <PartCount service={queue.service} account={account} endpoint={endpoint} value={value ?? 0} />
    ),
  });
  const endpointColumn: Column<QueueShare> = {
    id: 'endpoint',
    header: 'Endpoint',
    cell: ({ endpoint }) => (endpoint ? <EndpointLink id={endpoint} /> : <span className="none">–</span>),
  };
  const columns: Column<QueueShare>[] = [
    { id: 'account', header: 'Account', cell: ({ account }) => <AccountLink id={account} /> },
    numberColumn('ready', 'Ready', 'ready'),
    numberColumn('running', 'Running', 'running'),
    numberColumn('waiting', 'Waiting', 'waiting'),
    ...(queue.failed_waiting === null ? [] : [numberColumn('failed_waiting', 'Retrying', 'retrying')]),
    {
      id: 'dead',
      header: 'Dead',
      word: 'dead',
      kind: 'number',
      cell: ({ dead, account }) => (
        <DeadCount service={queue.service} queue={queue.queue} account={account} value={dead} />
      ),
    },
    { id: 'oldest', header: 'Oldest due', cell: ({ oldest_due_at }) => <Time at={oldest_due_at} /> },
    {
      id: 'error',
      header: 'Last error',
      kind: 'wide',
      cell: ({ last_error, failing_since, last_error_trace_id }) => (
        <ErrorLine text={last_error} since={failing_since} trace={last_error_trace_id} />
      ),
    },
    {
      id: 'actions',
      header: '',
      kind: 'actions',
      cell: (part) => <ShareActions queue={queue} part={part} target={targetOf(part)} />,
    },
  ];
  return isByEndpoint ? columns.toSpliced(1, 0, endpointColumn) : columns;
}

function ShareActions({ queue, part, target }: { queue: QueueWithShares; part: QueueShare; target: QueueTarget }) {
  const pause = queue.pauses.find(({ account, endpoint }) => account === part.account && endpoint === part.endpoint);
  return (
    <>
      <Link to="/traces" search={{ account: part.account }}>
        Traces
      </Link>
      {pause ? (
        <ActionButton label={`Resume ${target.of}`} make={() => resumeAction(target, pause, part)}>
          Resume
        </ActionButton>
      ) : (
        <ActionButton label={`Pause ${target.of}`} make={() => pauseAction(target, part)}>
          Pause
        </ActionButton>
      )}
      <ActionButton label={`Retry ${target.of}`} make={() => retryAction(target, part)}>
        Retry
      </ActionButton>
    </>
  );
}
