import { Link } from '@tanstack/react-router';
import type { Output } from '../api.ts';
import { Id } from '../ui/copy.tsx';
import { count } from '../ui/format.ts';
import { Loading, More, useList } from '../ui/lists.tsx';
import { Page } from '../ui/page.tsx';
import { type Column, DataTable } from '../ui/table.tsx';
import { RelativeAndClock } from '../ui/time.tsx';

type Address = Output<'GET /admin/addresses'>['data'][number];

const columns: Column<Address>[] = [
  { id: 'address', header: 'Address', kind: 'wide', cell: ({ address }) => <Id value={address} /> },
  {
    id: 'invalid',
    header: 'Invalid keys',
    kind: 'number',
    sortBy: ({ invalid_keys }) => invalid_keys,
    cell: ({ invalid_keys }) => (
      <Link to="/traces" search={{ unauthenticated: 'true', status_code: '401' }}>
        {count(invalid_keys)}
      </Link>
    ),
  },
  { id: 'last', header: 'Last', cell: ({ last_at }) => <RelativeAndClock at={last_at} /> },
];

/** Client addresses that sent invalid keys in the last hour. */
export function AddressesPage() {
  const list = useList('GET /admin/addresses');
  return (
    <Page title="Addresses with invalid keys">
      <Loading {...list} />
      {list.isLoaded && (
        <DataTable
          label="Addresses with invalid keys"
          columns={columns}
          rows={list.items}
          rowKey={({ address }) => address}
          empty="No invalid keys in the last hour."
        />
      )}
      <More list={list} />
    </Page>
  );
}
