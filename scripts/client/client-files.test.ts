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

/** Returns `shop.get` for `getShop`. */
const nameOf = (key: string) => key.replace(/^([a-z]+)([A-Z]\w*)$/, (_, verb, noun) => `${noun.toLowerCase()}.${verb}`);

/** Returns a document with these operations' responses, and one kind of event. */
const documentOf = (responses: Record<string, object>, schemas: Record<string, Schema> = {}): ClientDocument => ({
  paths: Object.fromEntries(
    Object.entries(responses).map(([key, response]) => {
      return [`/v1/${key}`, { get: { operationId: key, 'x-client-name': nameOf(key), responses: { 200: response } } }];
    }),
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
    expect(table).toContain("  getShop: 'shop.get GET /v1/getShop',");
    expect(table + files['packages/client/src/generated/types.ts']).not.toContain('streamShops');
  });

  it('have the methods of a resource in a group, and each under its flat name', async () => {
    const responses = { getShop: json({}), openShop: json({}), getTown: json({}) };
    const operations = ['getTown', 'openShop', 'getShop'].map((key) => operation(key));
    const types = await typesOf(operations, documentOf(responses));
    // In the order of the document.
    expect(types).toContain('export interface Resources {\n  readonly shop: ShopApi;\n  readonly town: TownApi;\n}\n');
    const [, shop] = types.split(/export interface \w+Api \{/);
    expect(shop!.match(/^ {2}\w+\(/gm)).toEqual(['  get(', '  open(']);
    expect(types).toContain("  /** @deprecated Use `client.shop.get`. */\n  readonly getShop: ShopApi['get'];\n");
  });

  it('are not generated if a method has the path of another method or a group', async () => {
    const named = (...names: string[]) => {
      const document = documentOf({ getShop: json({}), openShop: json({}) });
      const documented = Object.values(document.paths).map(({ get }) => get!);
      for (const [index, name] of names.entries()) documented[index]!['x-client-name'] = name;
      return typesOf([operation('getShop'), operation('openShop')], document);
    };
    await expect(named('shop.get', 'shop.get')).rejects.toThrow('Two members of the client are named shop.get');
    await expect(named('shop.get', 'shop.get.open')).rejects.toThrow('shop.get.open is in shop.get, which is a method');
    await expect(named('shop.get.open', 'shop.get')).rejects.toThrow('Two members of the client are named shop.get');
  });

  it('name resources, their pages, and other responses', async () => {
    const reference = { $ref: '#/components/schemas/Shop' };
    const page = { type: 'object', properties: { data: { type: 'array', items: reference }, has_more: {}, next: {} } };
    const [named, unnamed] = [json({ $ref: '#/components/schemas/ShopPage' }), json(page)];
    const near = { ...page, properties: { town: { type: 'string' }, ...page.properties } };
    const responses = {
      getShop: json(reference),
      listShops: named,
      findShops: unnamed,
      nearShops: json(near),
      countShops: json(fieldsOf('count')),
      closeShops: {},
    };
    const operations = Object.keys(responses).map((key) => operation(key));
    const document = documentOf(responses, { Shop: fieldsOf('name'), ShopPage: page });
    const files = await clientFiles(operations, document);
    const types = files['packages/client/src/generated/types.ts']!;
    for (const line of [
      'get(input?: CallOptions): ApiCall<Shop>;',
      'list(input?: CallOptions): ListCall<Shop>;',
      'find(input?: CallOptions): ListCall<Shop>;',
      'near(input?: CallOptions): ListCall<Shop, NearShopsResponse>;',
      'count(input?: CallOptions): ApiCall<CountShopsResponse>;',
      'close(input?: CallOptions): ApiCall<undefined>;',
      'export interface Shop {',
    ]) {
      expect(types).toContain(line);
    }
    expect(types).not.toContain('ShopPage');
    const lines = files['packages/client/src/generated/operations.ts']!.split('\n');
    expect(lines.filter((line) => line.endsWith(" pages',"))).toHaveLength(3);
  });

  it('have the description of the schema a property refers to, unless the property has its own', async () => {
    const Town = { ...fieldsOf('name'), description: 'Where people live.' };
    const reference = { $ref: '#/components/schemas/Town' };
    const properties = { town: reference, birthplace: { ...reference, description: 'Where it began.' } };
    const types = await typesOf([], documentOf({}, { Town, Shop: { type: 'object', properties } }));
    expect(types).toContain('  /** Where people live. */\n  town?: Town | undefined;\n');
    expect(types).toContain('  /** Where it began. */\n  birthplace?: Town | undefined;\n');
  });

  it('name the replacement of a deprecated operation', async () => {
    const deprecated = { since: '2026-01-01', sunset: '2027-01-01', instead: operation('findShop') };
    const document = documentOf({ getShop: json({}), findShop: json({}) });
    const types = await typesOf([operation('getShop', { deprecated })], document);
    expect(types).toContain('   * @deprecated Use `client.shop.find`; it may be removed from 2027-01-01.\n');
  });

  it('narrow events by their type, and add the fields of the event list', async () => {
    const recorded = { ...envelope, properties: { ...envelope.properties, sequence: { type: 'integer' } } };
    const types = await typesOf([], documentOf({}, { RecordedEvent: recorded }));
    expect(types).toContain('export type KnownEvent =\n  | ShopOpenedEvent;');
    expect(types).toContain('export type RecordedEvent = Event & { sequence: number };');
    expect(types).toContain('/** A shop was opened. */\nexport interface ShopOpenedEvent {');
  });

  it('have no two types with one name', async () => {
    const document = documentOf({ getShop: json(fieldsOf('name')) }, { GetShopResponse: fieldsOf('other') });
    await expect(typesOf([operation('getShop')], document)).rejects.toThrow(
      'Two types of the client are named GetShopResponse',
    );
  });
});
