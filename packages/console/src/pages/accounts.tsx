import { Link } from '@tanstack/react-router';
import { call, type Output } from '../api.ts';
import { type Action, ActionButton, reasonField, reasonIn } from '../ui/action.tsx';
import { Id } from '../ui/copy.tsx';
import { Filters } from '../ui/filters.tsx';
import { count } from '../ui/format.ts';
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
    cell: ({ id }) => <Id value={id} isShort />,
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
    touches: 'Creates one account and its sandbox. A new account has no keys.',
    fields: [
      { name: 'name', label: 'Name', maxLength: 200, isRequired: true },
      { name: 'timezone', label: 'Timezone', value: 'UTC', isRequired: true, hint: 'Such as Europe/Berlin.' },
      { name: 'currency', label: 'Currency', value: 'EUR', maxLength: 3, isRequired: true },
      reasonField,
    ],
    run: async (values) => {
      const body = {
        name: String(values.get('name')),
        timezone: String(values.get('timezone')),
        currency: String(values.get('currency')),
        ...reasonIn(values),
      };
      const { id, name } = await call('POST /admin/accounts', { body });
      return (
        <>
          Created{' '}
          <Link to="/accounts/$id" params={{ id }}>
            {name}
          </Link>
          , id <code>{id}</code>.
        </>
      );
    },
  };
}

const fields = [{ name: 'q', label: 'Name or id', maxLength: 200 }];

/** All accounts, newest first. The filter finds accounts by part of the name, by id, or by the sandbox's id. */
export function AccountsPage({ filters }: { filters: { q?: string } }) {
  const list = useList('GET /admin/accounts', { query: filters });
  return (
    <Page title="Accounts" actions={<ActionButton make={createAction}>Create account</ActionButton>}>
      <Filters fields={fields} values={filters} />
      <Loading {...list} />
      {list.isLoaded && (
        <DataTable
          label="Accounts"
          columns={columns}
          rows={list.items}
          rowKey={({ id }) => id}
          empty={filters.q ? 'No account has this name or id.' : 'No accounts yet.'}
        />
      )}
      <More list={list} />
    </Page>
  );
}
