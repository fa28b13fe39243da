import type { OperatedEndpoint } from '@customer-platform/contracts/accounts';
import { EndpointActions, endpointColumns, useDeliveries } from '../endpoint-state.tsx';
import { deliveries, useGone } from '../queues.ts';
import { Filters } from '../ui/filters.tsx';
import { count } from '../ui/format.ts';
import { Gone, noneOf } from '../ui/gone.tsx';
import { EndpointError } from '../ui/last-error.tsx';
import { AccountLink, ToQueue } from '../ui/links.tsx';
import { Loading, More, useList } from '../ui/lists.tsx';
import { Page } from '../ui/page.tsx';
import { type Column, DataTable } from '../ui/table.tsx';

const fields = [
  {
    name: 'failing',
    label: 'State',
    options: ['', 'true', 'false'],
    labels: { '': 'All', true: 'Failing', false: 'Not failing' },
  },
  { name: 'url', label: 'URL contains', maxLength: 200 },
  { name: 'account', label: 'Account id', maxLength: 36 },
  { name: 'endpoint', label: 'Endpoint id', maxLength: 36 },
];

const columns: Column<OperatedEndpoint>[] = [
  endpointColumns.url,
  { id: 'account', header: 'Account', cell: ({ account }) => <AccountLink id={account} /> },
  endpointColumns.state,
  endpointColumns.failing,
  {
    id: 'pending',
    header: 'Pending',
    kind: 'number',
    sortBy: ({ pending }) => pending,
    cell: (endpoint) => (endpoint.pending === 0 ? <span className="none">0</span> : <Pending endpoint={endpoint} />),
  },
  {
    id: 'error',
    header: 'Last error',
    kind: 'wide',
    cell: (endpoint) =>
      endpoint.disabled_reason && !endpoint.last_error ? (
        `Disabled: ${endpoint.disabled_reason}`
      ) : (
        <EndpointError endpoint={endpoint} />
      ),
  },
  { id: 'actions', header: '', kind: 'actions', cell: (endpoint) => <EndpointActions endpoint={endpoint} /> },
];

/** Filters as strings from the URL. */
export interface EndpointFilters {
  failing?: string;
  url?: string;
  account?: string;
  endpoint?: string;
}

/** Webhook endpoints of all accounts, the longest failing first. */
export function EndpointsPage({ filters }: { filters: EndpointFilters }) {
  const { failing, url, account, endpoint } = filters;
  const query = { url, account, endpoint, ...(failing === undefined ? {} : { failing: failing === 'true' }) };
  const list = useList('GET /admin/endpoints', { query });
  const known = useGone(deliveries.service);
  const gone = known.length > 0 ? known : list.gone;
  return (
    <Page title="Endpoints">
      <Filters fields={fields} values={{ ...filters }} />
      <Gone services={gone} what="endpoints" />
      <Loading isLoading={list.isLoading} error={gone.length > 0 ? null : list.error} />
      {list.isLoaded && (
        <DataTable
          label="Webhook endpoints"
          columns={columns}
          rows={list.items}
          rowKey={({ id }) => id}
          empty={
            list.error
              ? 'None at the last check. Unknown since webhooks stopped responding.'
              : noneOf(failing === 'true' ? 'No matching endpoint is failing.' : 'No endpoints match.', gone)
          }
        />
      )}
      <More list={list} />
    </Page>
  );
}

/** The number of an endpoint's pending deliveries, and how many of them wait for a retry, if known. */
function Pending({ endpoint: { id, pending } }: { endpoint: OperatedEndpoint }) {
  const failedWaiting = useDeliveries()?.top.find((each) => each.endpoint === id)?.failed_waiting ?? 0;
  return (
    <ToQueue {...deliveries} by="endpoint">
      {count(pending)}
      {failedWaiting > 0 && `, ${count(failedWaiting)} retrying`}
    </ToQueue>
  );
}
