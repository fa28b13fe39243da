import { isDeepStrictEqual } from 'node:util';

/** A JSON Schema of draft 2020-12, as zod writes it. */
export type Schema = JsonSchema | boolean;
export interface JsonSchema extends Keywords {
  $ref?: string;
  $defs?: Record<string, Schema>;
  type?: string | string[];
  const?: unknown;
  anyOf?: Schema[];
}

/** One of the shapes that a value may have: keywords that all hold, of one type at most; `const` is an `enum` of one, and what merges with nothing is left in `allOf`. */
export interface Variant extends Keywords {
  type?: string;
}

/** Keywords of both. */
interface Keywords {
  enum?: unknown[];
  oneOf?: Schema[];
  allOf?: Schema[];
  not?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: Schema;
  propertyNames?: Schema;
  prefixItems?: Schema[];
  items?: Schema;
  [keyword: string]: unknown;
}

/** Keywords that say nothing about which values there are. */
const annotations = ['$schema', '$defs', 'title', 'description', 'default', 'examples', 'deprecated'];
/** A schema that is deeper refers to itself without anything in between. */
const maxDepth = 50;

/** Returns the shapes that a value of the schema may have: none where there is no value. Throws an Error if a `$ref` leads nowhere. */
export function variantsOf(schema: Schema, root: Schema, depth = 0): Variant[] {
  if (typeof schema === 'boolean') return schema ? [{}] : [];
  if (depth > maxDepth) throw new Error('A schema refers to itself without anything in between');
  const { $ref, anyOf, oneOf, allOf, not, type, const: only, ...rest } = schema;
  if (not !== undefined && (not === true || isDeepStrictEqual(not, {}))) return [];
  for (const keyword of annotations) delete rest[keyword];
  const within = (part: Schema) => variantsOf(part, root, depth + 1);
  const plain: Variant = 'const' in schema ? mergedVariant({ enum: [only] }, rest as Variant) : (rest as Variant);
  if (not !== undefined) plain.not = not;
  const types = type === undefined ? [undefined] : [type].flat();
  let variants: Variant[] = types.map((each) => (each === undefined ? plain : { ...plain, type: each }));
  if ($ref !== undefined) variants = crossed(variants, within(targetOf($ref, root)));
  if (anyOf) variants = crossed(variants, anyOf.flatMap(within));
  if (oneOf) variants = crossed(variants, exclusive(oneOf, oneOf.map(within)));
  for (const part of allOf ?? []) variants = crossed(variants, within(part));
  return variants;
}

/** Returns the schema that another one stands for by a `$ref` alone, or that one itself. */
export function dereferenced(schema: Schema, root: Schema): Schema {
  let target = schema;
  for (let depth = 0; depth < maxDepth && typeof target === 'object' && target.$ref !== undefined; depth++) {
    if (Object.keys(target).some((keyword) => keyword !== '$ref' && !annotations.includes(keyword))) break;
    target = targetOf(target.$ref, root);
  }
  return target;
}

/** Returns the schema that a `$ref` within `root` names. Throws an Error if there is none. */
function targetOf(reference: string, root: Schema): Schema {
  const steps = reference.split('/').slice(1);
  let target: unknown = reference.startsWith('#') ? root : undefined;
  for (const step of steps) {
    const name = decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~');
    target = typeof target === 'object' && target !== null ? (target as Record<string, unknown>)[name] : undefined;
  }
  if (target === undefined) throw new Error(`${reference} leads nowhere`);
  return target as Schema;
}

function crossed(variants: Variant[], others: Variant[]): Variant[] {
  return variants.flatMap((variant) => others.map((other) => mergedVariant(variant, other))).filter(hasValues);
}

function hasValues(variant: Variant): boolean {
  return variant.enum?.length !== 0 && variant.type !== 'none';
}

/** Returns the shapes of a `oneOf`. Where a value could be of two of them, they keep the keyword: it would be a value of none. */
function exclusive(oneOf: Schema[], parts: Variant[][]): Variant[] {
  const isExclusive = parts.every((part, index) =>
    parts.slice(index + 1).every((later) => part.every((one) => later.every((other) => areDisjoint(one, other)))),
  );
  return isExclusive ? parts.flat() : parts.flat().map((variant) => ({ ...variant, oneOf }));
}

/** Returns whether two shapes surely have no value in common. */
export function areDisjoint(one: Variant, other: Variant): boolean {
  if (one.type && other.type && mergedType(one.type, other.type) === 'none') return true;
  if (one.enum && other.enum && !one.enum.some((value) => other.enum!.includes(value))) return true;
  return discriminatorOf(one, other) !== undefined;
}

/** Returns a field that both shapes require, with no value in common; undefined where there is none. */
export function discriminatorOf(one: Variant, other: Variant): string | undefined {
  const valuesOf = ({ properties = {}, required = [] }: Variant, name: string): unknown[] | undefined => {
    const field = properties[name];
    if (typeof field !== 'object' || !required.includes(name)) return undefined;
    return 'const' in field ? [field.const] : field.enum;
  };
  return Object.keys(one.properties ?? {}).find((name) => {
    const [values, others] = [valuesOf(one, name), valuesOf(other, name)];
    return values && others && !values.some((value) => others.includes(value));
  });
}

function mergedType(one: string, other: string): string {
  if (one === other) return one;
  return [one, other].sort().join() === 'integer,number' ? 'integer' : 'none';
}

const lowest = (one: unknown, other: unknown) => Math.min(one as number, other as number);
const highest = (one: unknown, other: unknown) => Math.max(one as number, other as number);

/** Keywords of both shapes as one, for those that have one value for two. */
const mergers: Record<string, (one: unknown, other: unknown) => unknown> = {
  type: (one, other) => mergedType(one as string, other as string),
  enum: (one, other) => (one as unknown[]).filter((value) => (other as unknown[]).includes(value)),
  required: (one, other) => [...new Set([...(one as string[]), ...(other as string[])])],
  properties: (one, other) => mergedProperties(one as Properties, other as Properties),
  minimum: highest,
  exclusiveMinimum: highest,
  minLength: highest,
  minItems: highest,
  minProperties: highest,
  maximum: lowest,
  exclusiveMaximum: lowest,
  maxLength: lowest,
  maxItems: lowest,
  maxProperties: lowest,
};
type Properties = Record<string, Schema>;

function mergedProperties(one: Properties, other: Properties): Properties {
  const both = Object.keys(one).filter((name) => Object.hasOwn(other, name));
  const shared = both.map((name): [string, Schema] => [name, { allOf: [one[name]!, other[name]!] }]);
  return { ...one, ...other, ...Object.fromEntries(shared) };
}

/** Returns the shape of the values that both have; what cannot be said as one is left in `allOf`. */
function mergedVariant(one: Variant, other: Variant): Variant {
  const merged: Variant = { ...one };
  const left: Schema[] = [];
  // These keywords are about what others of the same shape do not name.
  const isClosed = [one, other].some((each) => ['additionalProperties', 'items'].some((keyword) => keyword in each));
  const isSame = ['properties', 'prefixItems'].every((keyword) => isDeepStrictEqual(one[keyword], other[keyword]));
  if (isClosed && !isSame && Object.keys(one).length > 0) {
    const hasShape = ({ properties, additionalProperties, prefixItems, items }: Variant) =>
      [properties, additionalProperties, prefixItems, items].some((keyword) => keyword !== undefined);
    if (hasShape(one) && hasShape(other)) return { ...one, allOf: [...(one.allOf ?? []), other] };
  }
  for (const [keyword, value] of Object.entries(other)) {
    if (!(keyword in merged) || isDeepStrictEqual(merged[keyword], value)) merged[keyword] = value;
    else if (mergers[keyword]) merged[keyword] = mergers[keyword](merged[keyword], value);
    else if (keyword === 'allOf') left.push(...(value as Schema[]));
    else left.push({ [keyword]: value } as Schema);
  }
  if (left.length > 0) merged.allOf = [...(merged.allOf ?? []), ...left];
  return merged;
}
