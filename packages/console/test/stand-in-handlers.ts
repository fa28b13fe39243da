import type { ServiceName } from '@customer-platform/contracts/core';
import {
  account,
  addresses,
  audit,
  contoso,
  customerAttention,
  deadEvents,
  endpoints,
  health,
  history,
  id,
  key,
  members,
  northwind,
  operatedDeliveries,
  processes,
  queues,
  shares,
  traffic,
} from './fixtures.ts';
import { bookingTrace, traceId } from './trace-fixture.ts';

type Entry = Record<string, unknown>;

/** Data of a stand-in. Writes change it. */
export interface State {
  queues: ReturnType<typeof queues>;
  dead: ReturnType<typeof deadEvents>;
  endpoints: ReturnType<typeof endpoints>;
  accounts: ReturnType<typeof account>[];
  /** Accounts that only a request by id returns. */
  older: ReturnType<typeof account>[];
  customers: Omit<ReturnType<typeof customerAttention>, 'gone'>;
  processes: ReturnType<typeof processes>;
  gone: ServiceName[];
  /** Name of the environment; empty for none. */
  environment: string;
  /** Messages of operations that respond with 503, by operation key. */
  refused: Map<string, string>;
  /** Operations that do not respond until their promise is fulfilled, by operation key. */
  held: Map<string, Promise<void>>;
  /** Message of the error with the URL of a trace in another system. */
  elsewhere?: string;
}

/** Returns the initial data of a stand-in. */
export function stateOf(): State {
  return {
    queues: queues(),
    dead: deadEvents(),
    endpoints: endpoints(),
    accounts: [account(northwind, 'Northwind'), account(contoso, 'Contoso')],
    older: [account(id(3), 'Fabrikam')],
    customers: customerAttention([]),
    processes: processes(),
    gone: ['messaging'],
    environment: 'staging',
    refused: new Map(),
    held: new Map(),
  };
}

interface Call {
  state: State;
  params: Record<string, string>;
  query: Record<string, string>;
  body: Entry;
}

/** The new key of a rotation. */
export const newKey = `cp_live_${'k'.repeat(40)}`;

const pageOf = (data: unknown[]) => ({ data, has_more: false, next: null });
/** Returns the rows of services that are not gone. */
const ofLiving = <Row extends { service: ServiceName }>({ gone }: State, rows: Row[]) =>
  rows.filter(({ service }) => !gone.includes(service));
/** Entries per page of the accounts' list. It is small, so that the list has several pages. */
const accountsPerPage = 1;

function queueOf({ state, params }: Call) {
  return state.queues.find((queue) => queue.service === params.service && queue.queue === params.queue);
}

/** Returns the account and endpoint of a body. */
const partOf = ({ account = null, endpoint = null }: Entry) => ({ account, endpoint });

/** Returns whether both have the same account and endpoint. */
function isSamePart(one: Entry, other: Entry): boolean {
  return one.account === other.account && one.endpoint === other.endpoint;
}

/** Sets or lifts the pause of a queue's share. */
function setPause(call: Call, pause: Entry | null): Entry | undefined {
  const queue = queueOf(call);
  if (!queue) return undefined;
  const others = queue.pauses.filter((each) => !isSamePart(each, partOf(call.body)));
  const made = pause as (typeof queue.pauses)[number] | null;
  queue.pauses = made ? [...others, made] : others;
  queue.paused = queue.pauses.some((each) => !each.account && !each.endpoint);
  for (const endpoint of call.state.endpoints) {
    endpoint.paused = queue.pauses.some((each) => each.endpoint === endpoint.id);
  }
  return {};
}

/** Handlers by operation key. A result of undefined is a 404. */
export const handlers: Record<string, (call: Call) => unknown> = {
  listQueues: ({ state, query }) => {
    const data = ofLiving(state, state.queues).map((queue) =>
      query.history === 'true' ? { ...queue, history: history(queue) } : queue,
    );
    return { data, gone: state.gone };
  },
  getQueue: (call) => {
    const queue = queueOf(call);
    const top = queue?.queue === 'deliveries' ? shares(call.query.by ?? 'account') : [];
    return queue && { ...queue, top };
  },
  pauseQueue: (call) =>
    setPause(call, { ...call.body, ...partOf(call.body), actor: 'anna', at: new Date().toISOString() }),
  resumeQueue: (call) => setPause(call, null),
  retryQueue: (call) => queueOf(call) && { matched: 3_310 },
  listDeadEvents: ({ state, query: { service, queue, account: owner } }) => ({
    ...pageOf(
      ofLiving(state, state.dead).filter(
        (event) =>
          (!service || event.service === service) &&
          (!queue || event.queue === queue) &&
          (!owner || event.account === owner),
      ),
    ),
    gone: state.gone,
  }),
  getDeadEvent: ({ state, params }) => state.dead.find((event) => event.id === params.dead_id),
  listEndpoints: ({ state, query }) => ({
    gone: state.gone.filter((service) => service === 'webhooks'),
    ...pageOf(
      state.endpoints.filter(
        (each) =>
          !state.gone.includes('webhooks') &&
          (query.failing === undefined || (each.failing_since !== null) === (query.failing === 'true')) &&
          (!query.url || each.url.includes(query.url)) &&
          (!query.account || each.account === query.account) &&
          (!query.endpoint || each.id === query.endpoint),
      ),
    ),
  }),
  getEndpoint: ({ state, params }) => {
    const found = state.endpoints.find((each) => each.id === params.endpoint_id);
    return found && { ...found, description: '', events: ['*'], deliveries: operatedDeliveries(found) };
  },
  enableEndpoint: ({ state, params }) => {
    const found = state.endpoints.find((each) => each.id === params.endpoint_id);
    if (found) Object.assign(found, { active: true, disabled_reason: null });
    return found && {};
  },
  replayEndpoint: () => ({ matched: 42 }),
  resendMessages: () => ({ matched: 31 }),
  getAccountHealth: ({ state, params }) => ({
    ...health(params.account_id!),
    gone: state.gone.includes('gateway') ? state.gone : [],
  }),
  listAttention: ({ state }) => ({ ...state.customers, gone: state.gone }),
  listTraffic: ({ query }) => ({ data: traffic(query.account) }),
  updateAccount: ({ state, params, body }) => {
    const found = state.accounts.find((each) => each.id === params.account_id);
    const { reason: _reason, ...change } = body;
    const merged = (name: 'plan' | 'modules') => ({ [name]: { ...found?.[name], ...(change[name] as Entry) } });
    if (found) Object.assign(found, { ...change, ...merged('plan'), ...merged('modules') });
    return found;
  },
  listServices: ({ state }) => ({ data: ofLiving(state, state.processes), gone: state.gone }),
  listAddresses: () => pageOf(addresses()),
  listAudit: ({ query }) =>
    pageOf(
      audit.filter(
        ({ actor, account: owner }) =>
          (!query.actor || actor === query.actor) && (!query.account || owner === query.account),
      ),
    ),
  listTraces: ({ query }) => {
    const started_at = new Date(Date.now() - 40_000).toISOString();
    const common = {
      request_id: id(90),
      account: northwind,
      request_status: 'ok',
      request: null,
      error_code: null,
      started_at,
    };
    const failed = { trace_id: traceId, operation: 'bookAppointment', status: 'error', spans: 7, status_code: 201 };
    const other = { operation: 'listContacts', status: 'ok', spans: 2, status_code: 200 };
    const limited = { ...other, status_code: 429, error_code: 'rate_limited', spans: 1 };
    const stranger = { ...limited, account: null, operation: null, status_code: 401, error_code: 'invalid_key' };
    const traceIdOf = (last: number) => `${traceId.slice(0, -1)}${last}`;
    const traces = [
      { ...common, ...failed, request_duration_ms: 38.2, duration_ms: 5_371 },
      { ...common, ...other, trace_id: traceIdOf(7), request_duration_ms: 8.4, duration_ms: 8.4 },
      { ...common, ...limited, trace_id: traceIdOf(8), request_duration_ms: 0.6, duration_ms: 0.6 },
      { ...common, ...stranger, trace_id: traceIdOf(9), request_duration_ms: 0.4, duration_ms: 0.4 },
    ];
    const isOf = (status: number) =>
      !query.status_code || String(status).startsWith(query.status_code.replace('xx', ''));
    return pageOf(
      traces.filter(
        ({ status, status_code, error_code }) =>
          (!query.status || status === query.status) &&
          isOf(status_code) &&
          (error_code !== 'invalid_key' || query.unauthenticated === 'true'),
      ),
    );
  },
  getTrace: ({ state, params }) =>
    !state.elsewhere && [traceId, id(90)].includes(params.trace_id!) ? bookingTrace(northwind, id(90)) : undefined,
  listAccounts: ({ state, query }) => {
    const { q } = query;
    if (q)
      return pageOf(
        state.accounts.filter(({ id: own, name }) => own === q || name.toLowerCase().includes(q.toLowerCase())),
      );
    if (query.limit !== undefined) return pageOf(state.accounts);
    const from = Number(query.starting_after ?? 0);
    const next = from + accountsPerPage;
    const hasMore = next < state.accounts.length;
    return { data: state.accounts.slice(from, next), has_more: hasMore, next: hasMore ? String(next) : null };
  },
  getAccount: ({ state, params }) => [...state.accounts, ...state.older].find((each) => each.id === params.account_id),
  listKeys: () =>
    pageOf([
      key(50, 'Website', 'live', ['*']),
      key(51, 'Reports', 'test', ['crm.deals:read', 'cdp.contacts:read']),
      {
        ...key(52, 'Shop', 'live', ['calendar:read']),
        rate_limit: { per_minute: 60, burst: 10 },
        expires_at: new Date(Date.now() - 900_000).toISOString(),
      },
    ]),
  rotateKey: () => ({ ...key(53, 'Website', 'live', ['*']), key: newKey }),
  listMembers: () => pageOf(members),
};
