import { expect, it } from '@jest/globals';
import { z } from 'zod';
import { adminOperations } from './accounts/index.ts';
import type { Operation } from './core/operation.ts';
import { operations } from './index.ts';

/** Fields that a response may leave out, and why. */
const optionalByDesign: [field: RegExp, reason: string][] = [
  [/\.error\.field$/, "an entry's error is like the envelope's, which names a field only if there is one"],
  [/\.(blocks|definition)\[\]\.\w+$/, 'blocks are returned as written'],
  [/\.value$/, 'rules are returned as written'],
  [/\.hours\.(mon|tue|wed|thu|fri|sat|sun)$/, 'opening hours are a map by weekday, as `overrides` is a map by date'],
];

interface Schema {
  $ref?: string;
  $defs?: Record<string, Schema>;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  additionalProperties?: Schema | boolean;
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
}

/** Returns the paths of a response's optional fields, including fields within lists and maps. */
function optionalFields(response: z.ZodType): string[] {
  const root = z.toJSONSchema(response, { io: 'output', unrepresentable: 'any' }) as Schema;
  const found: string[] = [];
  const seen = new Set<Schema>();
  const walk = (schema: Schema | boolean | undefined, path: string): void => {
    if (typeof schema !== 'object' || seen.has(schema)) return;
    seen.add(schema);
    if (schema.$ref) walk(root.$defs?.[schema.$ref.split('/').at(-1)!], path);
    for (const [name, field] of Object.entries(schema.properties ?? {})) {
      if (!schema.required?.includes(name)) found.push(`${path}.${name}`);
      walk(field, `${path}.${name}`);
    }
    for (const part of [schema.items, schema.additionalProperties]) walk(part, `${path}[]`);
    for (const part of [schema.anyOf, schema.oneOf, schema.allOf].flat()) walk(part, path);
  };
  walk(root, '');
  return found;
}

it('every response has every field, with null for no value', () => {
  const all: readonly Operation[] = [...operations, ...Object.values(adminOperations)];
  const optional = all.flatMap(({ key, response }) =>
    response ? optionalFields(response).map((path) => `${key}${path}`) : [],
  );
  expect(optional.filter((path) => !optionalByDesign.some(([field]) => field.test(path)))).toEqual([]);
  for (const [field] of optionalByDesign) expect(optional).toContainEqual(expect.stringMatching(field));
});
