import type { Operation } from '@customer-platform/contracts/core';
import { describe, expect, it } from '@jest/globals';
import { type ClientDocument, clientFiles } from './client-files.ts';
import type { Schema } from './named-types.ts';

const fieldsOf = (...names: string[]): Schema => ({
  type: 'object',
  properties: Object.fromEntries(names.map((name) => [name, { type: 'string' }])),
  required: names,
});
const envelope = fieldsOf('id', 'type', 'timestamp', 'account', 'mode', 'data');
const json = (schema: object) => ({ content: { 'application/json': { schema: schema as Schema } } });

const operation = (key: string, more: Partial<Operation> = {}) =>
  ({
    key,
    method: 'GET',
    path: `/v1/${key}`,
    scope: null,
    summary: `Do ${key}`,
    status: 200,
    errors: [],
    ...more,
  }) as Operation;

/** Returns a document with these operations' responses, and one kind of event. */
const documentOf = (responses: Record<string, object>, schemas: Record<string, Schema> = {}): ClientDocument => ({
  paths: Object.fromEntries(
    Object.entries(responses).map(([key, response]) => [`/v1/${key}`, { get: { responses: { 200: response } } }]),
  ),
  webhooks: {
    'shop.opened': {
      post: {
        description: 'A shop was opened.',
        requestBody: json({ ...envelope, properties: { ...envelope.properties, type: { const: 'shop.opened' } } }),
      },
    },
  },
  components: {
    schemas: {
      ErrorEnvelope: { type: 'object' },
      Event: envelope,
      EventFilter: { type: 'string' },
      ...schemas,
    },
  },
});

async function typesOf(operations: Operation[], document: ClientDocument): Promise<string> {
  const files = await clientFiles(operations, document);
  return files['packages/client/src/generated/types.ts']!;
}

describe("the client's files", () => {
  it('have a method for each operation, but for a stream', async () => {
    const [made, streamed] = [operation('getShop'), operation('streamShops')];
    const document = documentOf({
      getShop: json({}),
      streamShops: { content: { 'text/event-stream': { schema: {} } } },
    });
    const files = await clientFiles([made, streamed], document);
    const table = files['packages/client/src/generated/operations.ts']!;
    expect(table).toContain("  getShop: 'GET /v1/getShop',");
    expect(table + files['packages/client/src/generated/types.ts']).not.toContain('streamShops');
  });

  it('name resources, pages of them, and what else is returned', async () => {
    const reference = { $ref: '#/components/schemas/Shop' };
    const page = { type: 'object', properties: { data: { type: 'array', items: reference }, has_more: {}, next: {} } };
    const [named, unnamed] = [json({ $ref: '#/components/schemas/ShopPage' }), json(page)];
    const responses = {
      getShop: json(reference),
      listShops: named,
      findShops: unnamed,
      countShops: json(fieldsOf('count')),
    };
    const types = await typesOf(
      Object.keys(responses).map((key) => operation(key)),
      documentOf(responses, { Shop: fieldsOf('name'), ShopPage: page }),
    );
    for (const line of [
      'getShop(input?: CallOptions): Promise<Shop>;',
      'listShops(input?: CallOptions): Promise<Page<Shop>>;',
      'findShops(input?: CallOptions): Promise<Page<Shop>>;',
      'Promise<CountShopsResponse>;',
      'export interface Shop {',
    ]) {
      expect(types).toContain(line);
    }
    expect(types).not.toContain('ShopPage');
  });

  it('say of an operation that ends which to call instead', async () => {
    const deprecated = { since: '2026-01-01', sunset: '2027-01-01', instead: operation('findShop') };
    const types = await typesOf([operation('getShop', { deprecated })], documentOf({ getShop: json({}) }));
    expect(types).toContain('   * @deprecated Use `findShop`; it may be gone from 2027-01-01.\n');
  });

  it('tell events apart by their type, with what the list of events adds', async () => {
    const recorded = { ...envelope, properties: { ...envelope.properties, sequence: { type: 'integer' } } };
    const types = await typesOf([], documentOf({}, { RecordedEvent: recorded }));
    expect(types).toContain('export type KnownEvent =\n  | ShopOpenedEvent;');
    expect(types).toContain('export type RecordedEvent = Event & { sequence: number };');
    expect(types).toContain('/** A shop was opened. */\nexport interface ShopOpenedEvent {');
  });

  it('have no two types of one name', async () => {
    const document = documentOf({ getShop: json(fieldsOf('name')) }, { GetShopResponse: fieldsOf('other') });
    await expect(typesOf([operation('getShop')], document)).rejects.toThrow(
      'Two types of the client are named GetShopResponse',
    );
  });
});
