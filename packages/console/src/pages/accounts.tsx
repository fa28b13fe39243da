import { Link, useNavigate } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { call, type Output } from '../api.ts';
import { type Action, ActionButton } from '../ui/action.tsx';
import { count, shortId } from '../ui/format.ts';
import { Loading, More, useList } from '../ui/lists.tsx';
import { Page } from '../ui/page.tsx';
import { type Column, DataTable } from '../ui/table.tsx';
import { Time } from '../ui/time.tsx';

type Account = Output<'GET /admin/accounts'>['data'][number];

const columns: Column<Account>[] = [
  {
    id: 'name',
    header: 'Account',
    sortBy: ({ name }) => name,
    cell: ({ id, name }) => (
      <Link to="/accounts/$id" params={{ id }}>
        {name}
      </Link>
    ),
  },
  {
    id: 'id',
    header: 'Id',
    cell: ({ id }) => (
      <span className="id" title={id}>
        {shortId(id)}
      </span>
    ),
  },
  {
    id: 'status',
    header: 'Status',
    cell: ({ status }) => (status === 'active' ? status : <span className="tag warn">{status}</span>),
  },
  { id: 'plan', header: 'Plan', cell: ({ plan }) => plan.name },
  {
    id: 'modules',
    header: 'Modules on',
    kind: 'wide',
    cell: ({ plan, modules }) => plan.modules.filter((name) => modules[name]?.on !== false).join(', ') || 'none',
  },
  {
    id: 'rate',
    header: 'Rate/min',
    kind: 'number',
    sortBy: (account) => account.rate_limit.per_minute,
    cell: ({ id, rate_limit }) => (
      <Link to="/accounts/$id" params={{ id }}>
        {count(rate_limit.per_minute)}
      </Link>
    ),
  },
  { id: 'timezone', header: 'Timezone', cell: ({ timezone }) => timezone },
  { id: 'created', header: 'Created', cell: ({ created_at }) => <Time at={created_at} /> },
];

function createAction(): Action {
  return {
    title: 'Create account',
    confirm: 'Create',
    touches: 'Creates one account and its sandbox. It has no key yet.',
    fields: [
      { name: 'name', label: 'Name', maxLength: 200, isRequired: true },
      { name: 'timezone', label: 'Timezone', value: 'UTC', isRequired: true, hint: 'Such as Europe/Berlin.' },
      { name: 'currency', label: 'Currency', value: 'EUR', maxLength: 3, isRequired: true },
    ],
    run: async (values) => {
      const body = {
        name: String(values.get('name')),
        timezone: String(values.get('timezone')),
        currency: String(values.get('currency')),
      };
      const { id, name } = await call('POST /admin/accounts', { body });
      return (
        <>
          Created {name}, id <code>{id}</code>.
        </>
      );
    },
  };
}

/** Accounts, newest first; any account by its id. */
export function AccountsPage() {
  const list = useList('GET /admin/accounts');
  return (
    <Page title="Accounts" actions={<ActionButton make={createAction}>Create account</ActionButton>}>
      <FindAccount />
      <Loading {...list} />
      {list.isLoaded && (
        <DataTable
          label="Accounts"
          columns={columns}
          rows={list.items}
          rowKey={({ id }) => id}
          empty="There is no account yet."
        />
      )}
      <More list={list} />
    </Page>
  );
}

function FindAccount() {
  const navigate = useNavigate();
  const [id, setId] = useState('');
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (id.trim() !== '') void navigate({ to: '/accounts/$id', params: { id: id.trim() } });
  };
  return (
    <form className="filters" onSubmit={submit}>
      <div className="field">
        <label htmlFor="account-id">Account or sandbox id</label>
        <input id="account-id" autoComplete="off" value={id} onChange={(event) => setId(event.target.value)} />
      </div>
      <button type="submit">Open</button>
    </form>
  );
}
