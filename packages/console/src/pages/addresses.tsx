import type { Output } from '../api.ts';
import { call } from '../api.ts';
import { type Action, ActionButton } from '../ui/action.tsx';
import { count, countOf } from '../ui/format.ts';
import { Loading, More, useList } from '../ui/lists.tsx';
import { Page } from '../ui/page.tsx';
import { type Column, DataTable } from '../ui/table.tsx';
import { Time } from '../ui/time.tsx';

type BlockedAddress = Output<'GET /admin/addresses'>['data'][number];

function unblockAction({ address, invalid_keys }: BlockedAddress): Action {
  return {
    title: `Unblock ${address}`,
    confirm: 'Unblock',
    touches: `Requests from ${address} are taken again within 1 s, and its ${countOf(invalid_keys, 'invalid key')} are forgotten. Further invalid keys block it again.`,
    run: async () => {
      await call('DELETE /admin/addresses/{address}', { params: { address } });
      return `Unblocked ${address}.`;
    },
  };
}

const columns: Column<BlockedAddress>[] = [
  { id: 'address', header: 'Address', cell: ({ address }) => <code>{address}</code> },
  {
    id: 'invalid',
    header: 'Invalid keys',
    kind: 'number',
    sortBy: (blocked) => blocked.invalid_keys,
    cell: ({ invalid_keys }) => count(invalid_keys),
  },
  {
    id: 'refused',
    header: 'Refused',
    kind: 'wide',
    cell: ({ shared }) => (shared ? 'invalid keys only: several accounts use this address' : 'every request'),
  },
  { id: 'until', header: 'Until', cell: ({ blocked_until }) => <Time at={blocked_until} /> },
  {
    id: 'actions',
    header: '',
    kind: 'actions',
    cell: (blocked) => (
      <ActionButton label={`Unblock ${blocked.address}`} make={() => unblockAction(blocked)}>
        Unblock
      </ActionButton>
    ),
  },
];

/** Client addresses that are refused after too many invalid keys. */
export function AddressesPage() {
  const list = useList('GET /admin/addresses');
  return (
    <Page title="Blocked addresses">
      <Loading {...list} />
      {list.isLoaded && (
        <DataTable
          label="Blocked addresses"
          columns={columns}
          rows={list.items}
          rowKey={({ address }) => address}
          empty="No address is blocked."
        />
      )}
      <More list={list} />
    </Page>
  );
}
