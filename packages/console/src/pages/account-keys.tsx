import type { AccountHealth } from '@customer-platform/contracts/accounts';
import { Link } from '@tanstack/react-router';
import { useMemo } from 'react';
import {
  type Account,
  createKeyAction,
  endedAt,
  type Key,
  revokeKeyAction,
  rotateKeyAction,
} from '../account-actions.tsx';
import { ActionButton } from '../ui/action.tsx';
import { count, rateText } from '../ui/format.ts';
import { type Listed, Loading, More } from '../ui/lists.tsx';
import { Section } from '../ui/page.tsx';
import { type Column, DataTable } from '../ui/table.tsx';
import { Time } from '../ui/time.tsx';

/** Whether a key is valid, and if not, whether it is still used. */
function KeyState({ value, isUsed }: { value: Key; isUsed: boolean }) {
  const ended = endedAt(value);
  if (!ended && !value.expires_at) return <>valid</>;
  return (
    <>
      {value.revoked_at ? 'revoked' : ended ? 'ended' : 'ends'} <Time at={ended ?? value.expires_at} />
      {ended && isUsed && <span className="warn-text">, still used</span>}
    </>
  );
}

/** A key's rate limit. If the key exceeded it, also shows whose limit it is, and links to the audit log, since an operator may have lowered it. */
function Rate(props: { value: Key; use: AccountHealth['keys'][number] | undefined; account: Account }) {
  const { value, use, account } = props;
  const own = value.rate_limit;
  if (!use?.limited) return own ? rateText(own) : <span className="muted">account’s</span>;
  return (
    <>
      <span className="line">{rateText(own ?? account.rate_limit)}</span>
      {!own && <span className="muted"> (account’s)</span>}
      <br />
      <Link to="/audit" search={{ account: account.id }} className="line">
        Changed? See audit
      </Link>
    </>
  );
}

/** Requests of the last hour by key id. */
type Use = Map<string, AccountHealth['keys'][number]>;

/** The number of a key's requests, and of those that were limited; a dash if the key was not used. */
function Used({ use, account }: { use: AccountHealth['keys'][number] | undefined; account: Account }) {
  if (!use) return <span className="none">–</span>;
  return (
    <>
      <Link to="/traces" search={{ account: account.id }}>
        {count(use.requests)}
      </Link>
      {use.limited > 0 && (
        <>
          <br />
          <Link to="/traces" search={{ account: account.id, status_code: '429' }} className="bad">
            {count(use.limited)} limited
          </Link>
        </>
      )}
    </>
  );
}

const keyColumns = (account: Account, uses: Use): Column<Key>[] => [
  {
    id: 'name',
    header: 'Key',
    cell: ({ name, last4 }) => (
      <>
        {name} <code className="line">…{last4}</code>
      </>
    ),
  },
  { id: 'mode', header: 'Mode', cell: ({ mode }) => mode },
  { id: 'scopes', header: 'Scopes', kind: 'wide', cell: ({ scopes }) => scopes.join(', ') },
  { id: 'addresses', header: 'Allowed from', cell: (key) => key.allowed_addresses.join(', ') || 'any' },
  {
    id: 'rate',
    header: 'Rate',
    cell: (key) => <Rate value={key} use={uses.get(key.id)} account={account} />,
  },
  {
    id: 'requests',
    header: 'Last hour',
    kind: 'number',
    word: 'limited',
    sortBy: ({ id }) => uses.get(id)?.requests ?? 0,
    cell: ({ id }) => <Used use={uses.get(id)} account={account} />,
  },
  {
    id: 'from',
    header: 'Used from',
    cell: ({ id }) => uses.get(id)?.addresses.join(', ') || <span className="none">–</span>,
  },
  { id: 'used', header: 'Last used', cell: ({ last_used_at }) => <Time at={last_used_at} /> },
  { id: 'state', header: 'State', cell: (key) => <KeyState value={key} isUsed={uses.has(key.id)} /> },
  {
    id: 'actions',
    header: '',
    kind: 'actions',
    cell: (key) =>
      endedAt(key) ? null : (
        <>
          <ActionButton label={`Rotate ${key.name}`} make={() => rotateKeyAction(key)}>
            Rotate
          </ActionButton>
          <ActionButton isDangerous label={`Revoke ${key.name}`} make={() => revokeKeyAction(key)}>
            Revoke
          </ActionButton>
        </>
      ),
  },
];

/** The keys of an account, with their use in the last hour once `health` is loaded. */
export function Keys(props: { account: Account; keys: Listed<Key>; health: AccountHealth | undefined }) {
  const { account, keys, health } = props;
  const columns = useMemo(
    () => keyColumns(account, new Map(health?.keys.map((key) => [key.id, key]))),
    [account, health],
  );
  return (
    <Section title="Keys" actions={<ActionButton make={() => createKeyAction(account)}>Create key</ActionButton>}>
      <Loading {...keys} />
      {keys.isLoaded && (
        <DataTable
          label="Keys"
          columns={columns}
          rows={keys.items}
          rowKey={({ id }) => id}
          empty="The account has no keys."
          rowClass={(key) => (endedAt(key) ? 'ended' : undefined)}
        />
      )}
      <More list={keys} />
    </Section>
  );
}
