import { operations } from '@customer-platform/contracts';
import { adminOperations } from '@customer-platform/contracts/accounts';
import { ErrorEnvelope, type Operation } from '@customer-platform/contracts/core';
import {
  type Platform,
  type RawResponse,
  type RequestOptions,
  rawRequest,
  startPlatform,
  type TestAccount,
} from '@customer-platform/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { z } from 'zod';
import { bodyOf } from './body-of.ts';
import { endSeeds, Seed } from './seed.ts';

/** For any input, every operation responds 2xx or a 4xx envelope, never a 5xx or a stack trace. */
let platform: Platform;
let account: TestAccount;
let seed: Seed;
let adminIds: Record<string, string>;

beforeAll(async () => {
  platform = await startPlatform();
  account = await platform.account({ timezone: 'UTC' });
  const ada = { name: 'Ada', email: 'ada@example.com' };
  const member = await platform.admin('POST', `/admin/accounts/${account.id}/members`, ada);
  // Admin operations run on another account, because some of them would revoke the first one's rights.
  const tried = await platform.account({ timezone: 'UTC' });
  const keys = await platform.admin('GET', `/admin/accounts/${tried.id}/keys`);
  const endpoint = await tried.client.webhooks.create({ body: { url: 'http://127.0.0.1:9/', active: false } });
  adminIds = {
    account_id: tried.id,
    key_id: keys.body.data[0].id,
    member_id: member.body.id,
    endpoint_id: endpoint.id,
    service: 'webhooks',
    queue: 'replays',
  };
  seed = new Seed(account, platform.clock.now());
}, 60_000);
afterAll(async () => {
  await endSeeds();
  await platform?.stop();
});

/** Adds a dead event. Returns its id. */
async function addDeadEvent(): Promise<string> {
  const [row] = await platform.database('crm')<{ id: string }[]>`
    insert into failed_events (account_id, queue, subject, headers, bytes, reason, tries, dead_at)
    values ('00000000-0000-0000-0000-000000000000', 'contacts', 'test', '{}', 'test', 'test', 10, date_trunc('milliseconds', now()))
    returning id`;
  return row!.id;
}

function expectSound(response: RawResponse): void {
  expect(response.status).toBeGreaterThanOrEqual(200);
  expect(response.status).toBeLessThan(500);
  if (response.status < 300) return;
  const { error } = ErrorEnvelope.parse(response.body);
  expect(error.message).not.toMatch(/\.[jt]s:\d|node_modules|postgres|syntax error/i);
}

type JsonSchema = {
  type?: string;
  enum?: unknown[];
  const?: unknown;
  anyOf?: JsonSchema[];
  properties?: Record<string, JsonSchema>;
  required?: string[];
  minItems?: number;
  items?: JsonSchema;
  prefixItems?: JsonSchema[];
  additionalProperties?: JsonSchema | boolean;
  minimum?: number;
  maximum?: number;
  maxLength?: number;
  format?: string;
  examples?: unknown[];
};

function schemaOf(schema: z.ZodType): JsonSchema {
  const { $defs = {}, ...own } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  return inPlace(own, $defs as Record<string, object>) as JsonSchema;
}

/** Returns a JSON Schema with its references inlined. None of our schemas is recursive. */
function inPlace(value: unknown, defined: Record<string, object>): unknown {
  if (Array.isArray(value)) return value.map((item) => inPlace(item, defined));
  if (typeof value !== 'object' || value === null) return value;
  const { $ref, ...rest } = value as { $ref?: string };
  const target = $ref ? defined[$ref.replace('#/$defs/', '')] : {};
  return Object.fromEntries(
    Object.entries({ ...target, ...rest }).map(([key, inner]) => [key, inPlace(inner, defined)]),
  );
}

const instants = fc
  .date({ min: new Date('2026-01-01'), max: new Date('2027-12-31'), noInvalidDate: true })
  .map((date) => date.toISOString());
const formats: Record<string, fc.Arbitrary<unknown>> = {
  uuid: fc.constantFrom(...[1, 2, 3].map(() => crypto.randomUUID())),
  email: fc.constantFrom('ada@example.com', 'nobody@example.com'),
  'date-time': instants,
  date: instants.map((text) => text.slice(0, 10)),
};

/** Generates mostly valid values of a schema. Ignores patterns, so deeper checks reject some values. */
function valid(schema: JsonSchema): fc.Arbitrary<unknown> {
  if (schema.enum) return fc.constantFrom(...schema.enum);
  if ('const' in schema) return fc.constant(schema.const);
  if (schema.anyOf) return fc.oneof(...schema.anyOf.map(valid));
  if (schema.examples) return fc.constantFrom(...schema.examples);
  if (schema.format && formats[schema.format]) return formats[schema.format]!;
  switch (schema.type) {
    case 'string':
      return fc.string({ unit: 'grapheme', maxLength: Math.min(schema.maxLength ?? 20, 20) });
    case 'integer':
    case 'number':
      return fc.integer({
        min: Math.max(schema.minimum ?? 0, -1_000),
        max: Math.min(schema.maximum ?? 100_000, 100_000),
      });
    case 'boolean':
      return fc.boolean();
    case 'array':
      if (schema.prefixItems) return fc.tuple(...schema.prefixItems.map(valid));
      return fc.array(valid(schema.items ?? {}), { maxLength: 3 });
    case 'object':
      return recordOf(schema);
    default:
      return fc.jsonValue();
  }
}

function recordOf({ properties = {}, required = [] }: JsonSchema): fc.Arbitrary<unknown> {
  const values = Object.fromEntries(Object.entries(properties).map(([name, value]) => [name, valid(value)]));
  return fc.record(values, { requiredKeys: required });
}

const numbers = [-1, 0, 1.5, 1e308, 2 ** 53, -(2 ** 53), 2 ** 31, 9.9e99];
const texts = ['', '\0', 'a\0b', '\ud800', '%', '\\', '‮', "'; drop table contacts; --"];
const long = ['x'.repeat(70_000), '😀'.repeat(6_000)];
const times = ['2026-02-30T00:00:00Z', '0000-01-01T00:00:00Z', '9999-12-31T23:59:59Z', '2026-01-01T00:00:00'];
const others: unknown[] = [null, true, [], {}, [[]], [null], { __proto__: null }, { constructor: 1 }];
const noId = '00000000-0000-0000-0000-000000000000';
const hostile = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }),
  fc.constantFrom<unknown>(...numbers, ...texts, ...long, ...times, ...others, noId),
);

/** Generates a body that is valid except for some of its fields. */
function almost(schema: JsonSchema): fc.Arbitrary<unknown> {
  const names = Object.keys(schema.properties ?? {});
  if (names.length === 0) return hostile;
  return fc
    .tuple(
      valid(schema),
      fc.subarray(names, { maxLength: Math.min(3, names.length) }),
      fc.array(hostile, { minLength: 3, maxLength: 3 }),
    )
    .map(([base, wrong, values]) => ({
      ...(base as object),
      ...Object.fromEntries(wrong.map((name, index) => [name, values[index]])),
    }));
}

const rawBodies: [string, string | Uint8Array, Record<string, string>][] = [
  ['invalid JSON', '{', {}],
  ['an array', '[]', {}],
  ['a string', '"x"', {}],
  ['null', 'null', {}],
  ['JSON nested 100,000 deep', `{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`, {}],
  ['bytes that are not UTF-8', Uint8Array.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]), {}],
  ['another Content-Type', '{}', { 'content-type': 'text/plain' }],
  ['a form', 'a=b', { 'content-type': 'application/x-www-form-urlencoded' }],
  ['a compressed body', '{}', { 'content-encoding': 'gzip' }],
];

const all: readonly Operation[] = [...operations, ...Object.values(adminOperations)];
const byKey = (list: readonly Operation[]) => list.map((operation) => [operation.key, operation] as const);

/** Sends a request to the operation's server: the control plane or the public gateway. */
async function send(operation: Operation, options: RequestOptions, query = ''): Promise<RawResponse> {
  const { method, path } = operation;
  // Only a sandbox has a clock.
  const key = path.startsWith('/v1/sandbox/') ? { key: account.testKey } : {};
  if (!path.startsWith('/admin/'))
    return await account.request(method, (await seed.path(path)) + query, { ...key, ...options });
  if (path.includes('{dead_id}')) adminIds.dead_id = await addDeadEvent();
  const adminPath = path.replace(/\{(\w+)\}/g, (_match, name: string) => adminIds[name] ?? 'none') + query;
  return await rawRequest(platform.adminUrl, method, adminPath, { key: platform.adminToken, ...options });
}

describe.each(byKey(all.filter(({ body }) => body)))('%s', (_key, operation) => {
  it('handles any body soundly', async () => {
    const schema = schemaOf(operation.body!);
    await fc.assert(
      fc.asyncProperty(fc.oneof(almost(schema), valid(schema), hostile), async (body) =>
        expectSound(await send(operation, bodyOf(operation, body))),
      ),
      { numRuns: 40 },
    );
  }, 60_000);

  it('rejects each string that is one code point too long, with its field', async () => {
    const { properties = {} } = schemaOf(operation.body!);
    const texts = Object.entries(properties).filter(
      ([, schema]) => schema.type === 'string' && schema.maxLength && !schema.format && !schema.examples,
    );
    for (const [name, { maxLength }] of texts) {
      const body = { ...required(operation), [name]: '😀'.repeat(maxLength! + 1) };
      const response = await send(operation, bodyOf(operation, body));
      expect([response.status, response.body.error?.field]).toEqual([400, name]);
    }
  });

  it('handles numbers beyond all bounds soundly', async () => {
    const names = Object.keys(operation.body!.shape);
    for (const number of ['1e999', '-1e999', '9007199254740993', '1e-999', `1${'0'.repeat(400)}`]) {
      const rawBody = `{${names.map((name) => `${JSON.stringify(name)}:${number}`).join(',')}}`;
      expectSound(await send(operation, { rawBody }));
    }
  });

  it.each(rawBodies)('refuses %s with 400, field body', async (_what, rawBody, headers) => {
    const response = await send(operation, { rawBody, headers });
    expectSound(response);
    expect(response.status).toBe(400);
  });
});

/** Returns valid values for the required fields of a body, so that only the field under test is invalid. */
function required(operation: Operation): Record<string, unknown> {
  const schema = schemaOf(operation.body!);
  const fields = (schema.required ?? []).map((name) => {
    const field = schema.properties![name]!;
    const [value] = fc.sample(valid(field), { numRuns: 1, seed: 1 });
    // List items must be unique, which the schema does not say. The shortest list has no duplicates.
    return [name, Array.isArray(value) ? value.slice(0, field.minItems ?? 0) : value];
  });
  return Object.fromEntries(fields);
}

// Responses of streams never end.
describe.each(byKey(all.filter(({ query, streams }) => query && !streams)))('%s', (_key, operation) => {
  it('handles any query soundly', async () => {
    const names = Object.keys(operation.query!.shape);
    const value = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 30 }),
      hostile.map((entry) => String(JSON.stringify(entry)).slice(0, 2_000)),
      instants,
    );
    const query = fc.array(fc.tuple(fc.constantFrom(...names, 'unknown'), value), { maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(query, async (pairs) => {
        const text = pairs.map(([name, entry]) => `${name}=${encodeURIComponent(entry.toWellFormed())}`).join('&');
        expectSound(await send(operation, {}, `?${text}`));
      }),
      { numRuns: 40 },
    );
  }, 60_000);
});

it('handles any path soundly', async () => {
  const segment = fc.oneof(
    fc.constantFrom('v1', 'calendar', 'appointments', '..', '.', '%2e%2e', '%2f', '%00', '%', '%zz', '\\', ';', '*'),
    fc.webSegment(),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(segment, { maxLength: 6 }), async (segments) => {
      expectSound(await account.request('GET', `/${segments.join('/')}`));
    }),
    { numRuns: 100 },
  );
});
