import { describe, expect, it } from '@jest/globals';
import type { ApiDocument } from './merged-documents.ts';
import { nameContents } from './openapi-contents.ts';

const object = (...names: string[]) => ({
  type: 'object',
  properties: Object.fromEntries(names.map((name) => [name, { type: 'string' }])),
});
const json = (schema: object) => ({ content: { 'application/json': { schema } } });
const reference = (name: string) => json({ $ref: `#/components/schemas/${name}` });

/** Returns a document with one operation of this name, body and response. */
const documentOf = (operationId: string, body: object, response: object, schemas: object = {}): ApiDocument => ({
  paths: { '/v1/shops': { post: { operationId, requestBody: json(body), responses: { 200: json(response) } } } },
  components: { schemas: schemas as Record<string, unknown> },
});

describe('a body or response without a name', () => {
  it('gets the name of its operation', () => {
    const document = documentOf('openShop', object('name'), object('opened'));
    nameContents(document);
    expect(document.paths!['/v1/shops']!.post).toMatchObject({
      requestBody: reference('OpenShopBody'),
      responses: { 200: reference('OpenShopResponse') },
    });
    expect(document.components!.schemas).toEqual({ OpenShopBody: object('name'), OpenShopResponse: object('opened') });
  });

  it('gets the name of its entries if it is a page', () => {
    const entries = { type: 'array', items: { $ref: '#/components/schemas/Shop' } };
    const page = { type: 'object', properties: { data: entries, has_more: {}, next: {} } };
    const document = documentOf('findShops', object('name'), page, { Shop: object('name') });
    nameContents(document);
    expect(document.paths!['/v1/shops']!.post).toMatchObject({ responses: { 200: reference('ShopPage') } });
  });

  it('throws if another schema has its name', () => {
    const document = documentOf('openShop', object('name'), object(), { OpenShopBody: object('address') });
    expect(() => nameContents(document)).toThrow('OpenShopBody is the name of two schemas');
  });
});
