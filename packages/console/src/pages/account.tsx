import { Link } from '@tanstack/react-router';
import {
  type Account,
  addMemberAction,
  createKeyAction,
  editAction,
  type Key,
  type Member,
  removeMemberAction,
  revokeKeyAction,
  rotateKeyAction,
  statusAction,
} from '../account-actions.tsx';
import { ActionButton } from '../ui/action.tsx';
import { count } from '../ui/format.ts';
import { type Listed, Loading, More, useList, useResource } from '../ui/lists.tsx';
import { Facts, Page } from '../ui/page.tsx';
import { type Column, DataTable } from '../ui/table.tsx';
import { Time } from '../ui/time.tsx';

/** One account with its keys and members. */
export function AccountPage({ id }: { id: string }) {
  const params = { account_id: id };
  const { data, isLoading, error } = useResource('GET /admin/accounts/{account_id}', { params });
  const keys = useList('GET /admin/accounts/{account_id}/keys', { params });
  const members = useList('GET /admin/accounts/{account_id}/members', { params });
  const isSandbox = data?.sandbox_id === null;
  const usable = keys.items.filter(({ revoked_at }) => revoked_at === null).length;
  const actions = data && !isSandbox && (
    <>
      <ActionButton make={() => editAction(data)}>Edit</ActionButton>
      <ActionButton isDangerous={data.status === 'active'} make={() => statusAction(data, usable)}>
        {data.status === 'active' ? 'Suspend' : 'Activate'}
      </ActionButton>
    </>
  );
  return (
    <Page title={data ? (isSandbox ? `${data.name} (sandbox)` : data.name) : 'Account'} actions={actions}>
      <Loading isLoading={isLoading} error={error} />
      {data && (
        <>
          <AccountFacts account={data} />
          {!isSandbox && <Keys account={data} keys={keys} />}
          <Members account={data} members={members} />
        </>
      )}
    </Page>
  );
}

function AccountFacts({ account }: { account: Account }) {
  const { id, status, plan, modules, rate_limit, sandbox_id } = account;
  const on = plan.modules.filter((name) => modules[name]?.on !== false);
  const { per_minute, burst } = rate_limit;
  return (
    <Facts
      facts={{
        Status: status === 'active' ? status : <span className="tag warn">{status}</span>,
        Plan: `${plan.name}${plan.api ? '' : ', without the API'}`,
        'Modules on': on.join(', ') || 'none',
        Rate: `${count(per_minute)}/min, burst ${count(burst)}`,
        Timezone: account.timezone,
        Created: <Time at={account.created_at} />,
        See: (
          <span className="links">
            <Link to="/traces" search={{ account: id }}>
              traces
            </Link>{' '}
            <Link to="/endpoints" search={{ account: id }}>
              endpoints
            </Link>{' '}
            <Link to="/dead" search={{ account: id }}>
              dead events
            </Link>{' '}
            <Link to="/audit" search={{ account: id }}>
              audit
            </Link>{' '}
            {sandbox_id && (
              <Link to="/accounts/$id" params={{ id: sandbox_id }}>
                sandbox
              </Link>
            )}
          </span>
        ),
        Id: <code>{id}</code>,
      }}
    />
  );
}

function KeyState({ value }: { value: Key }) {
  if (value.revoked_at)
    return (
      <>
        revoked <Time at={value.revoked_at} />
      </>
    );
  if (!value.expires_at) return <>valid</>;
  const hasEnded = Date.parse(value.expires_at) <= Date.now();
  return (
    <>
      {hasEnded ? 'expired' : 'expires'} <Time at={value.expires_at} />
    </>
  );
}

const keyColumns: Column<Key>[] = [
  { id: 'name', header: 'Key', cell: ({ name }) => name },
  { id: 'mode', header: 'Mode', cell: ({ mode }) => mode },
  { id: 'last4', header: 'Ends in', cell: ({ last4 }) => <code>{last4}</code> },
  { id: 'scopes', header: 'Scopes', kind: 'wide', cell: ({ scopes }) => scopes.join(', ') },
  { id: 'addresses', header: 'Addresses', cell: (key) => key.allowed_addresses.join(', ') || 'any' },
  { id: 'used', header: 'Last used', cell: ({ last_used_at }) => <Time at={last_used_at} /> },
  { id: 'state', header: 'State', cell: (key) => <KeyState value={key} /> },
  {
    id: 'actions',
    header: '',
    kind: 'actions',
    cell: (key) =>
      key.revoked_at ? null : (
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

function Keys({ account, keys }: { account: Account; keys: Listed<Key> }) {
  return (
    <section>
      <div className="section-head">
        <h2>Keys</h2>
        <ActionButton make={() => createKeyAction(account)}>Create key</ActionButton>
      </div>
      <Loading {...keys} />
      {keys.isLoaded && (
        <DataTable
          label="Keys"
          columns={keyColumns}
          rows={keys.items}
          rowKey={({ id }) => id}
          empty="The account has no key."
          rowClass={({ revoked_at }) => (revoked_at ? 'ended' : undefined)}
        />
      )}
      <More list={keys} />
    </section>
  );
}

function Members({ account, members }: { account: Account; members: Listed<Member> }) {
  const columns: Column<Member>[] = [
    { id: 'name', header: 'Member', cell: ({ name }) => name },
    { id: 'email', header: 'Email', kind: 'wide', cell: ({ email }) => email },
    { id: 'state', header: 'State', cell: ({ active }) => (active ? 'active' : 'inactive') },
    {
      id: 'actions',
      header: '',
      kind: 'actions',
      cell: (member) =>
        member.active && (
          <ActionButton isDangerous label={`Remove ${member.name}`} make={() => removeMemberAction(account, member)}>
            Remove
          </ActionButton>
        ),
    },
  ];
  return (
    <section>
      <div className="section-head">
        <h2>Members</h2>
        <ActionButton make={() => addMemberAction(account)}>Add member</ActionButton>
      </div>
      <Loading {...members} />
      {members.isLoaded && (
        <DataTable
          label="Members"
          columns={columns}
          rows={members.items}
          rowKey={({ id }) => id}
          empty="The account has no member."
          rowClass={({ active }) => (active ? undefined : 'ended')}
        />
      )}
      <More list={members} />
    </section>
  );
}
