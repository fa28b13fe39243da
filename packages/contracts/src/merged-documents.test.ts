import { expect, it } from '@jest/globals';
import { mergedDocuments } from './merged-documents.ts';

const refersTo = (name: string) => ({ $ref: `#/components/schemas/${name}` });
const usedAt = (path: string, name: string) => ({ [path]: { get: { schema: refersTo(name) } } });

it('merges equal components, whatever the order of their keys', () => {
  const merged = mergedDocuments([
    {
      service: 'crm',
      document: { openapi: '3.1.1', components: { schemas: { A: { type: 'string', minLength: 1 } } } },
    },
    { service: 'cdp', document: { openapi: '0', components: { schemas: { A: { minLength: 1, type: 'string' } } } } },
  ]);
  expect(merged).toEqual({
    openapi: '3.1.1',
    paths: {},
    webhooks: {},
    components: { schemas: { A: { type: 'string', minLength: 1 } } },
  });
});

it('renames a component that differs, and every component that refers to it', () => {
  const schemas = (leaf: object) => ({
    Leaf: leaf,
    Branch: { properties: { leaf: refersTo('Leaf') } },
    Tree: { properties: { branch: refersTo('Branch') } },
    Stone: { type: 'null' },
  });
  const merged = mergedDocuments([
    { service: 'crm', document: { paths: usedAt('/old', 'Tree'), components: { schemas: schemas({ enum: ['a'] }) } } },
    {
      service: 'cdp',
      document: { paths: usedAt('/new', 'Tree'), components: { schemas: schemas({ enum: ['a', 'b'] }) } },
    },
  ]);
  expect(merged.paths).toEqual({ ...usedAt('/old', 'Tree'), ...usedAt('/new', 'TreeOfCdp') });
  expect(merged.components!.schemas).toEqual({
    ...schemas({ enum: ['a'] }),
    LeafOfCdp: { enum: ['a', 'b'] },
    BranchOfCdp: { properties: { leaf: refersTo('LeafOfCdp') } },
    TreeOfCdp: { properties: { branch: refersTo('BranchOfCdp') } },
  });
});
