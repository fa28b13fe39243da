import { exampleMember, fillSandbox } from '@customer-platform/deploy/demo-sandbox';
import { type Platform, startPlatform, type TestAccount } from '@customer-platform/testkit';
import { afterAll, beforeAll, expect, it } from '@jest/globals';

/** The demonstration's sandbox, and the page's examples in it. */
interface Parameter {
  $ref?: string;
  name: string;
  in: string;
  required?: boolean;
  example?: unknown;
}
interface Described {
  operationId: string;
  parameters?: Parameter[];
  requestBody?: { content: Record<string, { example: unknown }> };
  responses: Record<string, { content?: Record<string, unknown> }>;
}
interface ApiDocument {
  paths: Record<string, Record<string, Described>>;
  components: { parameters: Record<string, Parameter> };
}

let platform: Platform;
let account: TestAccount;
let shown: ApiDocument;
const ownFetch = globalThis.fetch;

beforeAll(async () => {
  platform = await startPlatform();
  account = await platform.account({ timezone: 'Europe/Berlin', country: 'DE' });
  await platform.admin('POST', `/admin/accounts/${account.sandboxId}/members`, exampleMember);
  await fillSandbox(async (method, path, body) => (await send(method, path, body)).body);
  // The page's own script, whose paths are relative to the page.
  globalThis.fetch = (path, init) => ownFetch(new URL(String(path), platform.gatewayUrl), init);
  const script = new URL('./browser/sandbox.js', import.meta.url).href;
  const { forSandbox } = (await import(script)) as { forSandbox(document: object, key: string): Promise<ApiDocument> };
  shown = await forSandbox((await send('GET', '/v1/openapi.json')).body as object, account.testKey);
}, 90_000);
afterAll(async () => {
  globalThis.fetch = ownFetch;
  await platform?.stop();
});

async function send(method: string, path: string, body?: unknown) {
  const response = await account.request(method, path, { ...(body ? { body } : {}), key: account.testKey });
  if (response.status >= 300) throw new Error(`${method} ${path} is ${response.status}: ${response.text}`);
  return response;
}

/** Sends an operation as the page shows it; returns its status. */
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

it('what the page shows can be read as it is shown, but for what only time or a webhook makes', async () => {
  const refused = [];
  // A stream has no end.
  const isStream = ({ responses }: Described) =>
    Object.keys(responses['200']?.content ?? {}).includes('text/event-stream');
  for (const { method, path, operation } of operationsOf('get').filter((each) => !isStream(each.operation)))
    if ((await attempt(method, path, operation)) !== 200) refused.push(operation.operationId);
  expect(refused.sort()).toEqual(['getDelivery', 'getEndpoint', 'getReplay', 'listDeliveries']);
});

it('what the page shows can be created as it is shown, but for a second profile of the one teammate', async () => {
  const creating = operationsOf('post').filter(({ path, operation }) => !path.includes('{') && operation.requestBody);
  expect(creating.length).toBeGreaterThan(15);
  const refused = [];
  for (const { method, path, operation } of creating.filter(({ path: each }) => !/\/(files|clock)$/.test(each)))
    if ((await attempt(method, path, operation)) >= 300) refused.push(operation.operationId);
  expect(refused).toEqual(['createStaff']);
});

it('the clock can be advanced as it is shown', async () => {
  const { method, path, operation } = operationsOf('post').find((each) => each.path === '/v1/sandbox/clock')!;
  expect(await attempt(method, path, operation)).toBe(202);
});
