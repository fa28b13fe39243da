import type { AuditEntry } from '@customer-platform/contracts/accounts';
import { Link } from '@tanstack/react-router';
import { changesOf } from '../audit-changes.ts';
import { Id } from '../ui/copy.tsx';
import { countOf } from '../ui/format.ts';
import { AccountLink, ActorLink, EndpointLink } from '../ui/links.tsx';
import { type Column, DataTable } from '../ui/table.tsx';
import { RelativeAndClock } from '../ui/time.tsx';

/** A line shows at most this many fields of a change. */
const maxChanges = 4;

const columns: Column<AuditEntry>[] = [
  { id: 'at', header: 'When', cell: ({ at }) => <RelativeAndClock at={at} /> },
  {
    id: 'actor',
    header: 'By',
    cell: ({ actor }) => <ActorLink actor={actor} />,
  },
  { id: 'action', header: 'Action', cell: ({ action }) => <code>{action}</code> },
  { id: 'target', header: 'Target', cell: ({ target }) => <Target target={target} /> },
  { id: 'account', header: 'Account', cell: ({ account }) => <AccountLink id={account} /> },
  { id: 'reason', header: 'Reason', kind: 'wide', cell: ({ reason }) => reason ?? <span className="none">–</span> },
  { id: 'change', header: 'Change', kind: 'wide', cell: (entry) => <Change entry={entry} /> },
];

const columnsOfOneAccount = columns.filter(({ id }) => id !== 'account');

/** A table of changes by operators and API keys. `isOfOneAccount` hides the account column. */
export function AuditTable(props: { label: string; rows: AuditEntry[]; empty: string; isOfOneAccount?: boolean }) {
  const { isOfOneAccount = false, ...table } = props;
  return <DataTable {...table} columns={isOfOneAccount ? columnsOfOneAccount : columns} rowKey={({ id }) => id} />;
}

/** The target of a change, as a link if it has a page. */
function Target({ target }: { target: string }) {
  const [kind = '', name = ''] = target.split('/');
  if (kind === 'accounts') return <AccountLink id={name} />;
  if (kind === 'endpoints') return <EndpointLink id={name} />;
  if (name === '') return <span className="id">{target}</span>;
  if (kind === 'keys' || kind === 'members' || kind === 'dead') {
    return (
      <>
        {kind} <Id value={name} isShort />
      </>
    );
  }
  return (
    <Link to="/queues/$service/$queue" params={{ service: kind, queue: name }} search={{ by: 'account' }}>
      {target}
    </Link>
  );
}

/** A change in one line, and all of it as JSON on request. */
function Change({ entry }: { entry: AuditEntry }) {
  const { before, after } = entry;
  if (!before && !after) return <span className="none">–</span>;
  const changes = changesOf(entry);
  const left = changes.length - maxChanges;
  return (
    <details className="change">
      <summary>
        {changes.slice(0, maxChanges).map(({ name, from, to }, index) => (
          <span key={name}>
            {index > 0 && ', '}
            <span className="muted">{name}:</span>{' '}
            {from !== undefined && to !== undefined ? `${from} → ${to}` : (to ?? from)}
          </span>
        ))}
        {left > 0 && <span className="muted"> and {countOf(left, 'more field')}</span>}
        {changes.length === 0 && <span className="muted">no other fields</span>}
      </summary>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: keyboard users need the focus to scroll */}
      <pre tabIndex={0}>{JSON.stringify({ before, after }, null, 2)}</pre>
    </details>
  );
}
