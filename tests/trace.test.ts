import {
  type ProcessPlatform,
  type RawResponse,
  type Receiver,
  rawRequest,
  startProcessPlatform,
  startReceiver,
  waitFor,
} from '@customer-platform/testkit';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { openCalendar, retryingClient } from './setup.ts';

interface Span {
  service: string;
  name: string;
  spanId: string;
  parentSpanId: string | undefined;
  isError: boolean;
  /** Ids of linked traces. */
  links: string[];
  attributes: Record<string, unknown>;
}

/** Names of exported metrics, and number of exports. */
const metrics = new Set<string>();
let exports = 0;
let collector: Receiver;
let platform: ProcessPlatform;
let receiver: Receiver;

beforeAll(async () => {
  collector = await startReceiver();
  collector.respond = ({ body }, response) => {
    takeMetrics(JSON.parse(body));
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
  };
  receiver = await startReceiver();
  platform = await startProcessPlatform({
    LOG_LEVEL: 'info',
    OTEL_BSP_SCHEDULE_DELAY: '200',
    OTEL_METRICS_EXPORTER: 'otlp',
    OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: `${collector.url}/v1/metrics`,
    OTEL_METRIC_EXPORT_INTERVAL: '1000',
    OTEL_METRIC_EXPORT_TIMEOUT: '900',
  });
}, 120_000);
afterAll(async () => {
  await platform?.stop();
  await receiver?.stop();
  await collector?.stop();
}, 60_000);

// biome-ignore lint/suspicious/noExplicitAny: OTLP as JSON, read at a few places
type Otlp = any;

function takeMetrics(body: Otlp): void {
  exports++;
  for (const resource of body.resourceMetrics ?? []) {
    for (const scope of resource.scopeMetrics) for (const metric of scope.metrics) metrics.add(metric.name);
  }
}

const admin = (path: string): Promise<RawResponse> =>
  rawRequest(platform.adminUrl, 'GET', path, { key: platform.adminToken });

/** Returns the spans of a request that operators see so far. */
async function spansOf(id: string): Promise<Span[]> {
  const { body } = await admin(`/admin/traces/${id}`);
  return (body.resourceSpans ?? []).flatMap((ofResource: Otlp) => {
    const service = valuesOf(ofResource.resource.attributes)['service.name'];
    const spans = ofResource.scopeSpans.flatMap((ofScope: Otlp) => ofScope.spans);
    return spans.map((span: Otlp) => ({
      service,
      name: span.name,
      spanId: span.spanId,
      parentSpanId: span.parentSpanId,
      isError: span.status?.code === 2,
      links: (span.links ?? []).map(({ traceId }: Otlp) => traceId),
      attributes: valuesOf(span.attributes),
    }));
  });
}

function valuesOf(attributes: Otlp): Record<string, unknown> {
  const textOf = (value: Record<string, unknown>) => value.stringValue ?? Number(value.intValue ?? value.doubleValue);
  return Object.fromEntries(attributes.map(({ key, value }: Otlp) => [key, textOf(value)]));
}

const bookings = '/v1/calendar/appointments';
/** Spans of a booking, each with its parent. */
const edges: [string, string][] = [
  [`calendar POST ${bookings}`, `gateway POST ${bookings}`],
  ['calendar INSERT appointments', `calendar POST ${bookings}`],
  ['calendar COMMIT', `calendar POST ${bookings}`],
  ['calendar publish appointment.booked', `calendar POST ${bookings}`],
  ['webhooks process public-events', 'calendar publish appointment.booked'],
  ['webhooks INSERT event_counters', 'webhooks process public-events'],
  ['webhooks deliver webhook', 'webhooks process public-events'],
  ['webhooks POST', 'webhooks deliver webhook'],
];

it('shows a booking as one trace, from the request to the first attempt of its webhook', async () => {
  const account = await platform.account();
  const { contact, bookingType, startAt } = await openCalendar(retryingClient(platform.gatewayUrl, account.key));
  const client = retryingClient(platform.gatewayUrl, account.key);
  await client.webhooks.create({ body: { url: receiver.url, events: ['appointment.booked'] } });
  receiver.respond = (_, response) => response.writeHead(500).end();
  const body = { contact, booking_type: bookingType, starts_at: startAt(0) };
  const booked = await rawRequest(platform.gatewayUrl, 'POST', bookings, { body, key: account.key });
  expect(booked.status).toBe(201);
  const requestId = booked.headers.get('request-id')!;
  const told = await receiver.next((request) => request.body.includes(booked.body.id));

  const named = (spans: Span[], name: string) => spans.filter((span) => `${span.service} ${span.name}` === name);
  const isWhole = (spans: Span[]) =>
    edges.filter(([child, parent]) => {
      const parents = new Set(named(spans, parent).map(({ spanId }) => spanId));
      return !named(spans, child).some(({ parentSpanId }) => parentSpanId !== undefined && parents.has(parentSpanId));
    });
  let spans: Span[] = [];
  await waitFor('all spans of the booking', async () => {
    spans = await spansOf(requestId);
    return isWhole(spans).length === 0;
  }).catch((error: unknown) => {
    const seen = spans.map(({ service, name }) => `${service} ${name}`).join('\n');
    throw new Error(`missing: ${isWhole(spans).join('; ')}\nseen:\n${seen}`, { cause: error });
  });
  const [ofGateway] = named(spans, `gateway POST ${bookings}`);
  expect(ofGateway).toMatchObject({
    isError: false,
    parentSpanId: undefined,
    attributes: {
      'http.request.method': 'POST',
      'http.route': bookings,
      'url.path': bookings,
      'http.response.status_code': 201,
      'platform.account': account.id,
      'platform.operation': 'bookAppointment',
      'platform.request_id': requestId,
    },
  });
  expect(named(spans, 'webhooks deliver webhook')[0]).toMatchObject({ isError: true });
  expect(named(spans, 'webhooks POST')[0]).toMatchObject({
    isError: true,
    attributes: { 'server.address': '127.0.0.1', 'http.response.status_code': 500, 'error.type': '500' },
  });
  const insert = named(spans, 'calendar INSERT appointments')[0]!.attributes;
  expect(insert).toMatchObject({
    'db.system.name': 'postgresql',
    'db.namespace': 'platform|calendar',
    'db.operation.name': 'INSERT',
    'db.collection.name': 'appointments',
  });
  expect(JSON.stringify(spans)).not.toContain(booked.body.contact.name);
  const { body: list } = await admin(`/admin/traces?account=${account.id}&operation=bookAppointment`);
  expect(list.data).toMatchObject([{ request_id: requestId, account: account.id, status: 'error' }]);
  expect(told.headers.traceparent).toContain(list.data[0].trace_id);
});

it('has refused requests with account, key, address and error code, and hides requests without a valid key', async () => {
  const modules = { crm: { on: false } };
  const account = await platform.account({ rate_limit: { per_minute: 1, burst: 3 }, modules });
  const post = (path: string, body: object) =>
    rawRequest(platform.adminUrl, 'POST', path, { key: platform.adminToken, body });
  const narrow = { name: 'narrow', mode: 'live', scopes: ['messages:read'] };
  const { key } = (await post(`/admin/accounts/${account.id}/keys`, narrow)).body;
  const wrong = 'cp_live_0000000000000000000000000000000000000000';
  const get = async (path: string, of: string | null) => {
    const { status, headers } = await rawRequest(platform.gatewayUrl, 'GET', path, { key: of });
    return { status, id: headers.get('request-id')! };
  };
  const [scope, module, none, invalid] = [
    await get('/v1/webhooks', key),
    await get('/v1/crm/deals', account.key),
    await get('/v1/me', null),
    await get('/v1/me', wrong),
  ];
  for (let count = 0; count < 2; count++) await get('/v1/me', account.key);
  const limited = await get('/v1/me', account.key);
  const refused = [scope, module, none, invalid, limited];
  expect(refused.map(({ status }) => status)).toEqual([403, 404, 401, 401, 429]);
  const spans: Span[] = [];
  for (const { id } of refused) {
    const ofRequest = async () => (await spansOf(id)).find(({ attributes }) => 'client.address' in attributes);
    spans.push(await waitFor('its span', ofRequest));
  }
  const address = { 'client.address': '127.0.0.1' };
  const known = { ...address, 'platform.account': account.id, 'platform.key': account.key.slice(-4) };
  expect(spans.map(({ attributes }) => attributes)).toMatchObject([
    { ...known, 'platform.key': key.slice(-4), 'platform.error_code': 'scope_missing' },
    { ...known, 'platform.error_code': 'module_off' },
    { ...address, 'platform.error_code': 'key_required' },
    { ...address, 'platform.error_code': 'invalid_key' },
    { ...known, 'platform.error_code': 'rate_limited', 'http.response.status_code': 429 },
  ]);
  for (const { attributes } of spans.slice(2, 4)) expect(attributes).not.toHaveProperty('platform.account');
  const ours = new Set(refused.map(({ id }) => id));
  const listed = async (query: string) => {
    const { body } = await admin(`/admin/traces?limit=100&${query}`);
    return body.data
      .filter((one: { request_id: string }) => ours.has(one.request_id))
      .map((one: Otlp) => one.error_code);
  };
  expect(await listed(`account=${account.id}&status_code=4xx`)).toEqual([
    'rate_limited',
    'module_off',
    'scope_missing',
  ]);
  expect(await listed('status_code=429')).toEqual(['rate_limited']);
  expect(await listed('status_code=401')).toEqual([]);
  expect(await listed('status_code=401&unauthenticated=true')).toEqual(['invalid_key', 'key_required']);
});

it("records a request even if the client's trace is not sampled, in a new trace linked with the client's", async () => {
  const { key } = await platform.account();
  const traceId = '0af7651916cd43dd8448eb211c80319c';
  const headers = { traceparent: `00-${traceId}-b7ad6b7169203331-00` };
  const response = await rawRequest(platform.gatewayUrl, 'GET', '/v1/me', { key, headers });
  let ofGateway: Span | undefined;
  await waitFor('its span', async () => {
    const spans = await spansOf(response.headers.get('request-id')!);
    ofGateway = spans.find(({ name }) => name === 'GET /v1/me');
    return ofGateway !== undefined;
  });
  expect(ofGateway).toMatchObject({ parentSpanId: undefined, links: [traceId] });
  expect(await spansOf(traceId)).toEqual([]);
});

it('logs one line for each request, without secrets', async () => {
  const { id, key } = await platform.account();
  const refused = await rawRequest(platform.gatewayUrl, 'GET', '/v1/cdp/contacts?unknown=secret-name', { key });
  const read = await admin(`/admin/accounts/${id}`);
  const linesOf = ({ headers }: RawResponse) => {
    const ofRequest = `"request_id":"${headers.get('request-id')}"`;
    const lines = platform.output.filter((line) => line.includes(ofRequest) && line.includes('"msg":"request"'));
    return lines.map((line) => JSON.parse(line.slice(line.indexOf('{'))) as Record<string, unknown>);
  };
  await waitFor('the lines', () => linesOf(refused).length > 0 && linesOf(read).length > 0);
  const [line, ...others] = linesOf(refused);
  expect(others).toEqual([]);
  expect(line).toMatchObject({ level: 30, account: id, operation: 'listContacts', method: 'GET', status: 400 });
  const fields = 'account bytes level method ms msg operation request_id service status time trace_id';
  expect(Object.keys(line!).sort().join(' ')).toBe(fields);
  expect(linesOf(read)).toMatchObject([{ operation: 'getAccount', status: 200 }]);
  for (const secret of [key, platform.adminToken, 'secret-name']) {
    expect(platform.output.join('\n')).not.toContain(secret);
  }
});

it("creates no traces of background work or of operators' reads", async () => {
  const began = Date.now();
  // Each process exports its metrics once a second, which is also the interval of most polls.
  const until = exports + 3 * platform.processNames.length;
  await waitFor('every process to have polled', () => exports >= until, 30_000);
  for (const path of ['/admin/queues', '/admin/services', '/admin/dead', '/admin/endpoints']) await admin(path);
  const seen: { started_at: string }[] = (await admin('/admin/traces?limit=100')).body.data;
  expect(seen.filter(({ started_at }) => Date.parse(started_at) >= began)).toEqual([]);
});

it('exports the metrics that the operators watch', async () => {
  const queue = ['queue.ready', 'queue.waiting', 'queue.dead', 'queue.lag'];
  for (const name of [...queue, 'http.server.request.duration', 'webhooks.deliveries', 'webhooks.tries'])
    await waitFor(`the metric ${name}`, () => metrics.has(name), 15_000);
});
