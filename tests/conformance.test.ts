import { operations } from '@customer-platform/contracts';
import { ErrorEnvelope, moduleNames, type Operation } from '@customer-platform/contracts/core';
import { type Platform, type RawResponse, startPlatform, type TestAccount } from '@customer-platform/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { bodyOf } from './body-of.ts';
import { endSeeds, Seed } from './seed.ts';

/** Tests every operation by its contract. A new operation needs no code here. */
let platform: Platform;
let owner: TestAccount;
let stranger: TestAccount;
let moduleless: TestAccount;
let seed: Seed;

beforeAll(async () => {
  platform = await startPlatform();
  owner = await accountWithMember({});
  stranger = await accountWithMember({});
  moduleless = await platform.account({
    modules: Object.fromEntries(moduleNames.map((name) => [name, { on: false }])),
  });
  seed = new Seed(owner, platform.clock.now());
}, 60_000);
afterAll(async () => {
  await endSeeds();
  await platform?.stop();
});

async function accountWithMember(settings: Record<string, unknown>): Promise<TestAccount> {
  const account = await platform.account({ timezone: 'UTC', ...settings });
  await platform.admin('POST', `/admin/accounts/${account.id}/members`, { name: 'Ada', email: 'ada@example.com' });
  return account;
}

function expectRefusal(response: RawResponse, status: number, code: string, field?: string): void {
  expect({ status: response.status, ...ErrorEnvelope.parse(response.body).error }).toMatchObject({
    status,
    code,
    ...(field ? { field } : {}),
  });
  expect(response.headers.get('request-id')).toBeTruthy();
}

const some = async (operation: Operation, account = owner, path?: string) => {
  const options = operation.method === 'GET' ? {} : bodyOf(operation, {});
  return await account.request(operation.method, path ?? (await seed.path(operation.path)), {
    ...options,
    ...keyFor(operation, account),
  });
};
/** Only a sandbox has a clock, so its operations need a test key. */
const isOfSandbox = ({ path }: Operation) => path.startsWith('/v1/sandbox/');
const keyFor = (operation: Operation, { testKey }: TestAccount) => (isOfSandbox(operation) ? { key: testKey } : {});
const isWrite = (operation: Operation) => ['POST', 'PATCH', 'DELETE'].includes(operation.method);
const isList = ({ query }: Operation) => query !== undefined && 'starting_after' in query.shape;
const hasPathId = ({ errors, path }: Operation) => errors.includes('not_found') && path.includes('{');
/** Returns whether an operation is a PUT that creates the resource in its path. */
const makesPathId = ({ method, path }: Operation) => method === 'PUT' && path.endsWith('}');
const requiresFields = (operation: Operation) => operation.body !== undefined && !operation.body.safeParse({}).success;
const requiresQuery = (operation: Operation) => operation.query !== undefined && !operation.query.safeParse({}).success;

const each = (
  what: string,
  which: (operation: Operation) => boolean,
  test: (operation: Operation) => Promise<void>,
) => {
  const chosen = operations.filter(which).map((operation) => [operation.key, operation] as const);
  describe(what, () => {
    it.each(chosen)('%s', async (_key, operation) => await test(operation));
  });
};

it('reads the contracts of every module', () => {
  expect(new Set(operations.map((operation) => operation.service))).toEqual(
    new Set(['gateway', 'agents', 'cdp', 'calendar', 'catalogue', 'crm', 'messaging', 'webhooks']),
  );
  expect(new Set(operations.map((operation) => operation.key)).size).toBe(operations.length);
});

each(
  'rejects a request without a key',
  () => true,
  async (operation) => {
    const response = await owner.request(operation.method, await seed.path(operation.path), { key: null });
    expectRefusal(response, 401, 'key_required');
    expect(response.headers.get('www-authenticate')).toBe('Bearer');
  },
);

each(
  'rejects a key without its scope',
  (operation) => operation.scope !== null,
  async (operation) => {
    const scope = operation.scope === 'messages:read' ? 'messages:write' : 'messages:read';
    const key = await platform.issueKey(owner.id, { scopes: [scope] });
    const response = await owner.request(operation.method, await seed.path(operation.path), { key });
    expectRefusal(response, 403, 'scope_missing');
  },
);

each(
  'responds module_off if its module is off',
  (operation) => operation.gate !== null,
  async (operation) => {
    expectRefusal(await some(operation, moduleless), 404, 'module_off');
  },
);

each(
  "responds not_found for another account's resource, before it looks at the body",
  (operation) => hasPathId(operation) && !makesPathId(operation),
  async (operation) => {
    expectRefusal(await some(operation, stranger), 404, 'not_found');
  },
);

each('responds not_found for an invalid id', hasPathId, async (operation) => {
  const path = operation.path.replace(/\{\w+\}/g, '%20nope%20');
  expectRefusal(await some(operation, owner, path), 404, 'not_found');
});

const lacksWhenEmpty = (operation: Operation) => requiresFields(operation) || requiresQuery(operation);
each('names the field that an empty body or query lacks', lacksWhenEmpty, async (operation) => {
  const response = await some(operation);
  expectRefusal(response, 400, 'invalid_request');
  expect(Object.keys((operation.body ?? operation.query)!.shape)).toContain(response.body.error.field);
});

each('rejects a limit of 0 or above the maximum, and an invalid cursor', isList, async (operation) => {
  const path = await seed.path(operation.path);
  const required = requiresQuery(operation) ? `booking_type=${await seed.id('booking_type_id')}&` : '';
  const most = operation.key === 'listFreeTimes' ? 1_000 : 100;
  for (const limit of [0, most + 1, 'x', '', 1.5]) {
    expectRefusal(await owner.request('GET', `${path}?${required}limit=${limit}`), 400, 'invalid_request', 'limit');
  }
  for (const limit of [1, most]) {
    expect((await owner.request('GET', `${path}?${required}limit=${limit}`)).status).toBe(200);
  }
  for (const cursor of ['', 'nope', crypto.randomUUID(), '0', '-1', '99999999999999999999']) {
    const response = await owner.request('GET', `${path}?${required}starting_after=${cursor}`);
    expectRefusal(response, 400, 'invalid_request', 'starting_after');
  }
});
each('repeats its first response for the same Idempotency-Key, byte by byte', isWrite, async (operation) => {
  const account = await accountWithMember({});
  const path = await new Seed(account, platform.clock.now()).path(operation.path);
  const send = (given: unknown) => {
    const { headers, ...body } = bodyOf(operation, given);
    return account.request(operation.method, path, {
      ...body,
      ...keyFor(operation, account),
      headers: { ...headers, 'idempotency-key': 'once' },
    });
  };
  const first = await send({});
  const second = await send({});
  expect(first.headers.get('idempotent-replayed')).toBeNull();
  expect(second.headers.get('idempotent-replayed')).toBe('true');
  expect([second.status, second.text]).toEqual([first.status, first.text]);
  expectRefusal(await send({ another: 'body' }), 400, 'invalid_request', 'Idempotency-Key');
});

each('rejects an invalid Idempotency-Key', isWrite, async (operation) => {
  for (const key of ['', 'é', 'x'.repeat(256)]) {
    const response = await owner.request(operation.method, await seed.path(operation.path), {
      body: {},
      ...keyFor(operation, owner),
      headers: { 'idempotency-key': key },
    });
    expectRefusal(response, 400, 'invalid_request', 'Idempotency-Key');
  }
});

each(
  'responds 405 with Allow to a wrong method, and OPTIONS with 204',
  () => true,
  async (operation) => {
    const path = await seed.path(operation.path);
    const methods = operations
      .filter(({ path: place }) => place === operation.path)
      .map((other) => other.method as string);
    const wrong = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].find((method) => !methods.includes(method))!;
    const response = await owner.request(wrong, path);
    expectRefusal(response, 405, 'invalid_request');
    const options = await owner.request('OPTIONS', path);
    expect(options.status).toBe(204);
    for (const allow of [response, options]) {
      expect(allow.headers.get('allow')!.split(', ')).toEqual(expect.arrayContaining([...methods, 'OPTIONS']));
    }
  },
);
each(
  'responds not_found with a slash at the end',
  () => true,
  async (operation) => {
    expectRefusal(await some(operation, owner, `${await seed.path(operation.path)}/`), 404, 'not_found');
  },
);

each(
  'carries Request-Id and rate limit headers, and handles HEAD as GET',
  // The responses of streams do not end.
  (operation) => operation.method === 'GET' && !operation.streams,
  async (operation) => {
    const path = (await seed.path(operation.path)) + (requiresQuery(operation) ? await requiredQuery(operation) : '');
    const response = await owner.request('GET', path, keyFor(operation, owner));
    expect(response.status).toBe(200);
    operation.response!.parse(response.body);
    for (const name of ['request-id', 'ratelimit', 'ratelimit-policy']) expect(response.headers.get(name)).toBeTruthy();
    const head = await owner.request('HEAD', path, keyFor(operation, owner));
    // A clock's time has changed by then, and may have no milliseconds. Keys have a newer last use.
    const length = ['getSandboxClock', 'listApiKeys'].includes(operation.key)
      ? expect.any(Number)
      : Buffer.byteLength(response.text);
    expect([head.status, head.text, Number(head.headers.get('content-length') ?? 'none')]).toEqual([200, '', length]);
  },
);
/** Returns a query with values for its required fields. */
async function requiredQuery(operation: Operation): Promise<string> {
  const values: Record<string, string> = {
    booking_type: String(await seed.id('booking_type_id')),
    starts_at: '2030-01-01T00:00:00Z',
    contact: String(await seed.id('contact_id')),
  };
  const names = Object.keys(operation.query!.shape).filter((name) => name in values);
  return `?${new URLSearchParams(names.map((name): [string, string] => [name, values[name]!]))}`;
}
