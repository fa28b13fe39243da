import { Filters } from '../ui/filters.tsx';
import { Loading, More, useList } from '../ui/lists.tsx';
import { Page } from '../ui/page.tsx';
import { AuditTable } from './audit-table.tsx';

const fields = [
  { name: 'actor', label: 'By', maxLength: 100 },
  { name: 'account', label: 'Account id', maxLength: 36 },
];

/** All changes by operators and keys, newest first. */
export function AuditPage({ filters }: { filters: { account?: string; actor?: string } }) {
  const list = useList('GET /admin/audit', { query: filters });
  return (
    <Page title="Audit">
      <Filters fields={fields} values={filters} />
      <Loading {...list} />
      {list.isLoaded && <AuditTable label="Changes by operators" rows={list.items} empty="No changes match." />}
      <More list={list} />
    </Page>
  );
}
