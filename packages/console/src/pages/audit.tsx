import type { AuditEntry } from '@customer-platform/contracts/accounts';
import { Link } from '@tanstack/react-router';
import { Filters } from '../ui/filters.tsx';
import { AccountLink } from '../ui/links.tsx';
import { Loading, More, useList } from '../ui/lists.tsx';
import { Page } from '../ui/page.tsx';
import { type Column, DataTable } from '../ui/table.tsx';
import { Time } from '../ui/time.tsx';

const fields = [
  { name: 'actor', label: 'By', maxLength: 100 },
  { name: 'account', label: 'Account id', maxLength: 36 },
];

const columns: Column<AuditEntry>[] = [
  { id: 'at', header: 'When', cell: ({ at }) => <Time at={at} /> },
  {
    id: 'actor',
    header: 'By',
    cell: ({ actor }) => (
      <Link to="/audit" search={{ actor }}>
        {actor}
      </Link>
    ),
  },
  { id: 'action', header: 'Action', cell: ({ action }) => <code>{action}</code> },
  { id: 'target', header: 'Target', cell: ({ target }) => <Target target={target} /> },
  { id: 'account', header: 'Account', cell: ({ account }) => <AccountLink id={account} /> },
  { id: 'change', header: 'Change', kind: 'wide', cell: (entry) => <Change entry={entry} /> },
];

/** Changes that operators made, newest first. */
export function AuditPage({ filters }: { filters: { account?: string; actor?: string } }) {
  const list = useList('GET /admin/audit', { query: filters });
  return (
    <Page title="Audit">
      <Filters fields={fields} values={filters} />
      <Loading {...list} />
      {!list.isLoading && !list.error && (
        <DataTable
          label="Changes by operators"
          columns={columns}
          rows={list.items}
          rowKey={({ id }) => id}
          empty="No operator changed anything that matches."
        />
      )}
      <More list={list} />
    </Page>
  );
}

/** Target of a change, with a link to its page if it has one. */
function Target({ target }: { target: string }) {
  const [kind = '', name = ''] = target.split('/');
  if (kind === 'accounts') return <AccountLink id={name} />;
  if (kind === 'addresses') return <Link to="/addresses">{target}</Link>;
  if (kind === 'keys' || kind === 'members' || name === '') return <span className="id">{target}</span>;
  return (
    <Link to="/queues/$service/$queue" params={{ service: kind, queue: name }} search={{ by: 'account' }}>
      {target}
    </Link>
  );
}

function Change({ entry: { before, after } }: { entry: AuditEntry }) {
  const names = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])];
  if (names.length === 0) return <span className="none">–</span>;
  return (
    <span className="changes">
      {names.map((name) => (
        <span key={name}>
          <span className="muted">{name}</span>{' '}
          {before && name in before && (
            <>
              <del>{textOf(before[name])}</del>{' '}
            </>
          )}
          {after && name in after && <ins>{textOf(after[name])}</ins>}
        </span>
      ))}
    </span>
  );
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
