import type { DeadEvent } from '@customer-platform/contracts/accounts';
import { Link } from '@tanstack/react-router';
import { dropAction, requeueAction, requeueAllAction } from '../dead-actions.ts';
import { useQueues } from '../queues.ts';
import { ActionButton } from '../ui/action.tsx';
import { Filters } from '../ui/filters.tsx';
import { bytes, count } from '../ui/format.ts';
import { Gone, noneOf } from '../ui/gone.tsx';
import { AccountLink, QueueLink } from '../ui/links.tsx';
import { Loading, More, useList } from '../ui/lists.tsx';
import { Page } from '../ui/page.tsx';
import { serviceNamed, serviceNames } from '../ui/services.ts';
import { type Column, DataTable } from '../ui/table.tsx';
import { RelativeAndClock } from '../ui/time.tsx';

const columns: Column<DeadEvent>[] = [
  {
    id: 'event',
    header: 'Event',
    kind: 'wide',
    cell: ({ id, kind, subject }) => (
      <Link to="/dead/$id" params={{ id }}>
        {kind ?? subject}
      </Link>
    ),
  },
  { id: 'queue', header: 'Queue', cell: (event) => <QueueLink {...event} /> },
  { id: 'account', header: 'Account', cell: ({ account }) => <AccountLink id={account} /> },
  { id: 'reason', header: 'Reason', kind: 'wide', cell: ({ reason }) => <span className="error-text">{reason}</span> },
  {
    id: 'tries',
    header: 'Attempts',
    kind: 'number',
    sortBy: ({ tries }) => tries,
    cell: ({ id, tries }) => (
      <Link to="/dead/$id" params={{ id }}>
        {count(tries)}
      </Link>
    ),
  },
  {
    id: 'size',
    header: 'Size',
    kind: 'number',
    sortBy: (event) => event.size_bytes,
    cell: ({ id, size_bytes }) => (
      <Link to="/dead/$id" params={{ id }}>
        {bytes(size_bytes)}
      </Link>
    ),
  },
  { id: 'dead', header: 'Dead', cell: ({ dead_at }) => <RelativeAndClock at={dead_at} /> },
  {
    id: 'actions',
    header: '',
    kind: 'actions',
    cell: (event) => {
      const name = event.kind ?? event.subject;
      return (
        <>
          <ActionButton label={`Requeue ${name}`} make={() => requeueAction(event)}>
            Requeue
          </ActionButton>
          <ActionButton isDangerous label={`Drop ${name}`} make={() => dropAction(event)}>
            Drop
          </ActionButton>
        </>
      );
    },
  },
];

/** Dead events, newest first. With a queue as the filter, all its dead events can be requeued at once. */
export function DeadEventsPage({ filters }: { filters: { service?: string; queue?: string; account?: string } }) {
  const { service, queue, account } = filters;
  const list = useList('GET /admin/dead', { query: { service: serviceNamed(service), queue, account } });
  const { data: queues } = useQueues();
  const named = (queues?.data ?? []).filter((each) => each.service === service && each.queue === queue);
  const whole = named.length === 1 ? named[0] : undefined;
  const fields = [
    { name: 'service', label: 'Service', options: ['', ...serviceNames] },
    { name: 'queue', label: 'Queue', maxLength: 200 },
    { name: 'account', label: 'Account id', maxLength: 36 },
  ];
  const actions = whole && whole.dead > 0 && (
    <ActionButton make={() => requeueAllAction({ ...whole, account })}>Requeue all</ActionButton>
  );
  return (
    <Page title="Dead events" actions={actions}>
      <Filters fields={fields} values={filters} />
      {service && queue && named.length === 0 && queues && !queues.gone.some((name) => name === service) && (
        <p className="hint">
          There is no queue {service}/{queue} now.
        </p>
      )}
      <Gone services={list.gone} what="dead events" />
      <Loading {...list} />
      {list.isLoaded && (
        <DataTable
          label="Dead events"
          columns={columns}
          rows={list.items}
          rowKey={({ id }) => id}
          empty={noneOf('No dead events. Dead events are kept for 30 days.', list.gone)}
        />
      )}
      <More list={list} />
    </Page>
  );
}
