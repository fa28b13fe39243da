import { exampleMember, fillSandbox } from '@customer-platform/deploy/demo/demo-sandbox';
import { type Platform, startPlatform, type TestAccount, waitFor } from '@customer-platform/testkit';
import { afterAll, beforeAll, expect, it } from '@jest/globals';

/** Tests the page's examples in the demo's sandbox. */
interface Parameter {
  $ref?: string;
  name: string;
  in: string;
  required?: boolean;
  example?: unknown;
  schema?: object;
}
interface Described {
  operationId: string;
  parameters?: Parameter[];
  requestBody?: { content: Record<string, { example: unknown }> };
  responses: Record<string, { content?: Record<string, unknown> }>;
}
interface ApiDocument {
  info: { description: string };
  paths: Record<string, Record<string, Described>>;
  components: { parameters: Record<string, Parameter> };
}

let platform: Platform;
let account: TestAccount;
let shown: ApiDocument;
const ownFetch = globalThis.fetch;

beforeAll(async () => {
  platform = await startPlatform();
  // Another account takes the numeric ids of the examples.
  await fill(await platform.account({ timezone: 'Europe/Berlin', country: 'DE' }));
  account = await platform.account({ timezone: 'Europe/Berlin', country: 'DE' });
  await fill(account);
  await addUnworkable();
  // The page's own script fetches paths relative to the page.
  globalThis.fetch = (path, init) => ownFetch(new URL(String(path), platform.gatewayUrl), init);
  const script = (name: string) => import(new URL(name, import.meta.url).href);
  const { forPage } = (await script('./for-page.js')) as { forPage(document: object, address: string): object };
  const { forSandbox } = (await script('./sandbox.js')) as {
    forSandbox(document: object, key: string): Promise<ApiDocument>;
  };
  const document = forPage((await send('GET', '/v1/openapi.json')).body as object, platform.gatewayUrl);
  shown = await forSandbox(document, account.testKey);
}, 90_000);
afterAll(async () => {
  globalThis.fetch = ownFetch;
  await platform?.stop();
});

async function fill(filled: TestAccount) {
  await platform.admin('POST', `/admin/accounts/${filled.sandboxId}/members`, exampleMember);
  await fillSandbox(async (method, path, body) => (await send(method, path, body, filled)).body);
}

/** Adds newer entries in final states, another pipeline, and nested resources, also without a list. */
async function addUnworkable() {
  const { testClient: client } = account;
  await client.crm.pipelines.create({ body: { name: 'Another', stages: [{ name: 'First' }, { name: 'Second' }] } });
  const contact = (await client.cdp.contacts.list({})).data[0]!.id;
  const items = [{ sku: 'gone', quantity: 1, name: 'Gone', unit_price_minor: 100 }];
  const { id: order_id } = await client.catalogue.orders.create({ body: { contact, items } });
  await client.catalogue.orders.decline({ params: { order_id }, body: {} });
  const { id: deal_id } = await client.crm.deals.create({ body: { title: 'Lost' } });
  await client.crm.deals.lose({ params: { deal_id }, body: {} });
  await client.agents.create({ body: { name: 'Draft', role: 'x' } });
  const { id: endpoint_id } = await client.webhooks.create({
    body: { url: 'http://127.0.0.1:9/', events: ['order.*'] },
  });
  await client.webhooks.test({ params: { endpoint_id } });
  const { email } = (await client.calendar.staff.list({})).data[0]!;
  await client.calendar.staff.timeOff.create({ params: { email }, body: { from: '2027-01-01', to: '2027-01-02' } });
  for (const name of ['One', 'Other']) await client.cdp.contacts.create({ body: { name, email: 'pair@example.com' } });
  await client.cdp.duplicates.find();
  await waitFor('the pair', async () => (await client.cdp.duplicates.list({})).data.length > 0);
}

async function send(method: string, path: string, body?: unknown, of = account) {
  const response = await of.request(method, path, { ...(body ? { body } : {}), key: of.testKey });
  if (response.status >= 300) throw new Error(`${method} ${path} is ${response.status}: ${response.text}`);
  return response;
}

/** Sends an operation as the page shows it. Returns the status. */
async function attempt(method: string, path: string, operation: Described): Promise<number> {
  const parameters = (operation.parameters ?? [])
    .map((each) => (each.$ref ? shown.components.parameters[each.$ref.split('/').at(-1)!]! : each))
    .filter(({ required }) => required);
  const value = (each: Parameter) => encodeURIComponent(String(each.example));
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    value(parameters.find((each) => each.name === name)!),
  );
  const query = parameters.filter((each) => each.in === 'query').map((each) => `${each.name}=${value(each)}`);
  const body = operation.requestBody?.content['application/json']?.example;
  const url = query.length > 0 ? `${filled}?${query.join('&')}` : filled;
  return (await account.request(method.toUpperCase(), url, { ...(body ? { body } : {}), key: account.testKey })).status;
}

const operationsOf = (wanted: string) =>
  Object.entries(shown.paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([method]) => method === wanted)
      .map(([method, operation]) => ({ method, path, operation })),
  );

it('all reads succeed as shown, except a replay, which has no list', async () => {
  const refused = [];
  // A stream has no end.
  const isStream = ({ responses }: Described) =>
    Object.keys(responses['200']?.content ?? {}).includes('text/event-stream');
  for (const { method, path, operation } of operationsOf('get').filter((each) => !isStream(each.operation)))
    if ((await attempt(method, path, operation)) !== 200) refused.push(operation.operationId);
  expect(refused).toEqual(['getReplay']);
});

it('all creations succeed as shown, except a second profile of the only teammate', async () => {
  const creating = operationsOf('post').filter(({ path, operation }) => !path.includes('{') && operation.requestBody);
  expect(creating.length).toBeGreaterThan(15);
  const refused = [];
  for (const { method, path, operation } of creating.filter(({ path: each }) => !/\/(files|clock)$/.test(each)))
    if ((await attempt(method, path, operation)) >= 300) refused.push(operation.operationId);
  expect(refused).toEqual(['createStaff']);
});

it('free times use a booking type of the sandbox and no empty period', async () => {
  const { parameters = [] } = shown.paths['/v1/calendar/free-times']!.get!;
  const types = (await account.testClient.calendar.bookingTypes.list({})).data.map(({ id }) => id);
  expect(types).not.toContain(1);
  expect(types).toContain(parameters.find(({ name }) => name === 'booking_type')?.example);
  const period = parameters.filter(({ name }) => name === 'from' || name === 'to');
  expect(period.map(({ schema }) => schema)).toEqual([
    expect.not.objectContaining({ examples: expect.anything() }),
    expect.not.objectContaining({ examples: expect.anything() }),
  ]);
});

it('a deal can be moved and won, and an order confirmed and fulfilled, as shown', async () => {
  const path = { deal: '/v1/crm/deals/{deal_id}', order: '/v1/catalogue/orders/{order_id}' };
  for (const each of [`${path.deal}/move`, `${path.deal}/win`, `${path.order}/confirm`, `${path.order}/fulfil`])
    expect([each, await attempt('post', each, shown.paths[each]!.post!)]).toEqual([each, 200]);
});

it('examples also refer to nested resources, to resources without a list, and past entries in final states', async () => {
  const operations: [string, string, number][] = [
    ['post', '/v1/agents/{agent_id}/plans', 202],
    ['patch', '/v1/agents/plans/{plan_id}/steps/{step_id}', 200],
    ['post', '/v1/webhooks/{endpoint_id}/deliveries/{delivery_id}/redeliver', 202],
    ['delete', '/v1/calendar/staff/{email}/time-off/{time_off_id}', 204],
    ['post', '/v1/cdp/duplicates/{duplicate_id}/merge', 200],
  ];
  for (const [method, path, status] of operations)
    expect([path, await attempt(method, path, shown.paths[path]![method]!)]).toEqual([path, status]);
});

it("the API's address is the page's address", () => {
  expect(shown.info.description).toContain(`curl ${platform.gatewayUrl}/v1/me -H`);
  expect(JSON.stringify(shown)).not.toContain('{base_url}');
});

it('the clock can be advanced as shown', async () => {
  const { method, path, operation } = operationsOf('post').find((each) => each.path === '/v1/sandbox/clock')!;
  expect(await attempt(method, path, operation)).toBe(202);
});
