import { createHashHistory, createRootRoute, createRoute, createRouter } from '@tanstack/react-router';
import { Frame } from './frame.tsx';
import { AccountPage } from './pages/account.tsx';
import { AccountsPage } from './pages/accounts.tsx';
import { AddressesPage } from './pages/addresses.tsx';
import { AuditPage } from './pages/audit.tsx';
import { DeadEventPage } from './pages/dead-event.tsx';
import { DeadEventsPage } from './pages/dead-events.tsx';
import { EndpointPage } from './pages/endpoint.tsx';
import { EndpointsPage } from './pages/endpoints.tsx';
import { EventsPage } from './pages/events.tsx';
import { OverviewPage } from './pages/overview.tsx';
import { QueuePage } from './pages/queue.tsx';
import { QueuesPage } from './pages/queues.tsx';
import { ServicesPage } from './pages/services.tsx';
import { TracePage } from './pages/trace.tsx';
import { TracesPage } from './pages/traces.tsx';
import { Broken } from './ui/broken.tsx';
import { Page } from './ui/page.tsx';

type Search = Record<string, unknown>;

/** Returns a function that reads only these search parameters, as strings. */
function texts<Name extends string>(...names: Name[]) {
  return (search: Search): { [Key in Name]?: string | undefined } => {
    const given = names.filter((name) => typeof search[name] === 'string' && search[name] !== '');
    return Object.fromEntries(given.map((name) => [name, search[name]])) as { [Key in Name]?: string };
  };
}

const root = createRootRoute({ component: Frame, notFoundComponent: UnknownPage });
const at = <Path extends string>(path: Path, component: () => React.ReactNode) =>
  createRoute({ getParentRoute: () => root, path, component });

export const queueRoute = createRoute({
  getParentRoute: () => root,
  path: '/queues/$service/$queue',
  validateSearch: (search: Search) => ({
    by: search.by === 'endpoint' ? ('endpoint' as const) : ('account' as const),
  }),
  component: () => <QueuePage {...queueRoute.useParams()} {...queueRoute.useSearch()} />,
});
const deadRoute = createRoute({
  getParentRoute: () => root,
  path: '/dead',
  validateSearch: texts('service', 'queue', 'account'),
  component: () => <DeadEventsPage filters={deadRoute.useSearch()} />,
});
const deadEventRoute = createRoute({
  getParentRoute: () => root,
  path: '/dead/$id',
  component: () => <DeadEventPage id={deadEventRoute.useParams().id} />,
});
const endpointsRoute = createRoute({
  getParentRoute: () => root,
  path: '/endpoints',
  validateSearch: texts('failing', 'url', 'account', 'endpoint'),
  component: () => <EndpointsPage filters={endpointsRoute.useSearch()} />,
});
const endpointRoute = createRoute({
  getParentRoute: () => root,
  path: '/endpoints/$id',
  component: () => <EndpointPage id={endpointRoute.useParams().id} />,
});
const accountsRoute = createRoute({
  getParentRoute: () => root,
  path: '/accounts',
  validateSearch: texts('q'),
  component: () => <AccountsPage filters={accountsRoute.useSearch()} />,
});
const accountRoute = createRoute({
  getParentRoute: () => root,
  path: '/accounts/$id',
  component: () => <AccountPage id={accountRoute.useParams().id} />,
});
const auditRoute = createRoute({
  getParentRoute: () => root,
  path: '/audit',
  validateSearch: texts('account', 'actor'),
  component: () => <AuditPage filters={auditRoute.useSearch()} />,
});
const tracesRoute = createRoute({
  getParentRoute: () => root,
  path: '/traces',
  validateSearch: texts(
    'account',
    'operation',
    'request_status',
    'request_min_duration_ms',
    'status',
    'min_duration_ms',
    'status_code',
    'unauthenticated',
  ),
  component: () => <TracesPage filters={tracesRoute.useSearch()} />,
});
const traceRoute = createRoute({
  getParentRoute: () => root,
  path: '/traces/$id',
  component: () => <TracePage id={traceRoute.useParams().id} />,
});

const routeTree = root.addChildren([
  at('/', OverviewPage),
  at('/queues', QueuesPage),
  queueRoute,
  deadRoute,
  deadEventRoute,
  endpointsRoute,
  endpointRoute,
  accountsRoute,
  accountRoute,
  at('/services', ServicesPage),
  at('/addresses', AddressesPage),
  auditRoute,
  tracesRoute,
  traceRoute,
  at('/events', EventsPage),
]);

/** Routes by the URL's hash, so that they do not conflict with the control plane's paths. */
export const router = createRouter({
  routeTree,
  history: createHashHistory(),
  scrollRestoration: true,
  defaultErrorComponent: Broken,
  // Search parameters stay strings. By default, the router would parse an id of digits as a number.
  parseSearch: (text) => Object.fromEntries(new URLSearchParams(text)),
  stringifySearch: (search) => {
    const given = Object.entries(search).filter(([, value]) => value !== undefined && value !== '');
    const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
    return text === '' ? '' : `?${text}`;
  },
});

function UnknownPage() {
  return (
    <Page title="No such page">
      <p className="empty">The console has no page at this address.</p>
    </Page>
  );
}

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
