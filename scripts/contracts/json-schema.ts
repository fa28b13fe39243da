/** JSON Schema of draft 2020-12, as zod writes it. */
export type Schema = JsonSchema | boolean;
export interface JsonSchema extends Keywords {
  $ref?: string;
  $defs?: Record<string, Schema>;
  type?: string | string[];
}

/** One of the shapes that a value may have, with at most one type and no union. */
export interface Variant extends Keywords {
  type?: string;
}

interface Keywords {
  const?: unknown;
  enum?: unknown[];
  anyOf?: Schema[];
  oneOf?: Schema[];
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: Schema;
  propertyNames?: Schema;
  prefixItems?: Schema[];
  items?: Schema;
  [keyword: string]: unknown;
}

/** Keywords that do not restrict the values of a schema. */
const annotations = ['$schema', '$defs', 'title', 'description', 'default', 'examples', 'deprecated'];

/**
 * Returns the shapes that a value of the schema may have. `const` becomes an `enum` of one value. A union next to other keywords stays a
 * keyword. zod writes `oneOf` only for exclusive shapes, so `oneOf` is read as `anyOf`. Throws an Error if a `$ref` leads nowhere.
 */
export function variantsOf(schema: Schema, root: Schema): Variant[] {
  const target = dereferenced(schema, root);
  if (typeof target === 'boolean') return target ? [{}] : [];
  const { type, ...rest } = restrictionsOf(target);
  const union = rest.anyOf ?? rest.oneOf;
  if (union && type === undefined && Object.keys(rest).length === 1)
    return union.flatMap((part) => variantsOf(part, root));
  const { const: only, ...others } = rest;
  const variant: Variant = 'const' in rest ? { ...others, enum: [only] } : rest;
  return type === undefined ? [variant] : [type].flat().map((each) => ({ ...variant, type: each }));
}

function restrictionsOf(schema: JsonSchema): JsonSchema {
  return Object.fromEntries(Object.entries(schema).filter(([keyword]) => !annotations.includes(keyword)));
}

/** Returns the schema that a schema refers to, or itself. Throws an Error if a `$ref` leads nowhere or stands next to restrictions. */
export function dereferenced(schema: Schema, root: Schema): Schema {
  if (typeof schema === 'boolean' || schema.$ref === undefined) return schema;
  if (Object.keys(restrictionsOf(schema)).length > 1) throw new Error(`${schema.$ref} stands next to other keywords`);
  const definitions = typeof root === 'object' ? root.$defs : undefined;
  const target = schema.$ref === '#' ? root : definitions?.[schema.$ref.replace('#/$defs/', '')];
  if (target === undefined) throw new Error(`${schema.$ref} leads nowhere`);
  return dereferenced(target, root);
}

/** Returns the values that a field may have if the schema lists them. */
export function valuesOf(field: Schema | undefined): unknown[] | undefined {
  if (typeof field !== 'object') return undefined;
  return 'const' in field ? [field.const] : field.enum;
}

/** Returns a field that both shapes require and whose values are disjoint; undefined if none exists. */
export function discriminatorOf(one: Variant, other: Variant): string | undefined {
  return one.required
    ?.filter((name) => other.required?.includes(name))
    .find((name) => {
      const [values, others] = [valuesOf(one.properties?.[name]), valuesOf(other.properties?.[name])];
      return values && others && !values.some((value) => others.includes(value));
    });
}
