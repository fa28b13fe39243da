import { isDeepStrictEqual } from 'node:util';
import { dereferenced, discriminatorOf, type Schema, type Variant, valuesOf, variantsOf } from './json-schema.ts';

/** Way in which a value that the sender's schema allows is invalid for the receiver's schema. */
export interface Gap {
  /** Steps from the schema's root to the value: `.name` of a field, `[]` for entries, `.*` for any key. */
  place: string;
  /**
   * `missing`: a required field that may be absent. `unknown`: a field that is rejected. `value`: a value of an enum. `variant`: a
   * shape of a union. `type`: another type, bound, pattern or format.
   */
  kind: 'missing' | 'unknown' | 'value' | 'variant' | 'type';
  /** Phrases for the sent and the accepted values. `sent` is `nothing` for a field that the sender does not have. */
  sent: string;
  taken: string;
}

/**
 * Receiver of a value. An `operation` rejects unknown keys. A `service` validates messages of the bus: it rejects unknown
 * keys only if `additionalProperties` says so, and a field with a default is never missing. A `client` ignores unknown keys and has no
 * defaults.
 */
export type Receiver = 'operation' | 'service' | 'client';

interface Comparison {
  receiver: Receiver;
  /** Compares a value of the sender's schema with one of the receiver's, both at `place`. */
  gapsAt(inner: Schema, outer: Schema, place: string): Gap[];
}

/**
 * Returns the ways in which a value of `inner` is invalid for `outer`. Senders send only the fields that `inner` declares. Keywords
 * without a comparison below, such as patterns and formats, must be equal. Throws an Error if a `$ref` leads nowhere.
 */
export function gapsOf(inner: Schema, outer: Schema, receiver: Receiver): Gap[] {
  // A pair that recurs inside itself, as in a tree, has no further gaps there.
  const underWay: [Schema, Schema][] = [];
  const gapsAt: Comparison['gapsAt'] = (innerGiven, outerGiven, place) => {
    const [innerPart, outerPart] = [dereferenced(innerGiven, inner), dereferenced(outerGiven, outer)];
    if (underWay.some(([one, other]) => one === innerPart && other === outerPart)) return [];
    const taken = variantsOf(outerPart, outer);
    underWay.push([innerPart, outerPart]);
    const gaps = variantsOf(innerPart, inner).flatMap((sent) => unionGaps(sent, taken, place, { receiver, gapsAt }));
    underWay.pop();
    return [...new Map(gaps.map((gap) => [JSON.stringify(gap), gap])).values()];
  };
  return gapsAt(inner, outer, '');
}

/** Returns the gaps between one shape and the accepted shapes: the fewest, among the most similar shapes. */
function unionGaps(sent: Variant, taken: Variant[], place: string, comparison: Comparison): Gap[] {
  if (sent.enum) return valueGaps(sent, taken, place, comparison);
  const compared = taken.map((variant) => ({ variant, gaps: variantGaps(sent, variant, place, comparison) }));
  if (compared.some(({ gaps }) => gaps.length === 0)) return [];
  const alike = compared.filter(({ variant }) => isOfType(sent, variant));
  if (alike.length === 0) return [typeGap(sent, taken, place)];
  const near = alike.filter(({ variant }) => discriminatorOf(sent, variant) === undefined);
  if (near.length === 0 && alike.length > 1)
    return [
      variantGap(
        sent,
        alike.map(({ variant }) => variant),
        place,
      ),
    ];
  const candidates = near.length > 0 ? near : alike;
  return candidates.reduce((one, other) => (other.gaps.length < one.gaps.length ? other : one)).gaps;
}

function typeGap(sent: Variant, taken: Variant[], place: string): Gap {
  return { place, kind: 'type', sent: phraseOf([sent]), taken: phraseOf(taken) };
}

/** Returns the gap for a shape of a union that differs from all others in the discriminator. */
function variantGap(sent: Variant, taken: Variant[], place: string): Gap {
  const name = discriminatorOf(sent, taken[0]!)!;
  const kindsOf = (variants: Variant[]) => list(variants.flatMap((each) => valuesOf(each.properties?.[name]) ?? []));
  return { place: `${place}.${name}`, kind: 'variant', sent: kindsOf([sent]), taken: kindsOf(taken) };
}

/** Returns the gaps of an enum, each value of which may match another shape. */
function valueGaps(sent: Variant, taken: Variant[], place: string, comparison: Comparison): Gap[] {
  const isTaken = (value: unknown) =>
    taken.some((variant) => variantGaps({ ...sent, enum: [value] }, variant, place, comparison).length === 0);
  const refused = { ...sent, enum: sent.enum!.filter((value) => !isTaken(value)) };
  if (refused.enum.length === 0) return [];
  const alike = taken.filter((variant) => isOfType(refused, variant));
  if (alike.length === 0) return [typeGap(refused, taken, place)];
  if (alike.some((variant) => variant.enum)) return [{ ...typeGap(refused, taken, place), kind: 'value' }];
  return variantGaps(refused, alike[0]!, place, comparison);
}

/** Returns the gaps between two shapes. */
function variantGaps(sent: Variant, taken: Variant, place: string, comparison: Comparison): Gap[] {
  const isListed = !taken.enum || sent.enum?.every((value) => taken.enum!.includes(value));
  if (!isOfType(sent, taken) || !isListed) return [typeGap(sent, [taken], place)];
  return [
    ...boundGaps(sent, taken, place),
    ...otherGaps(sent, taken, place),
    ...(sent.type === 'array' ? listGaps(sent, taken, place, comparison) : []),
    ...(sent.type === 'object' ? objectGaps(sent, taken, place, comparison) : []),
  ];
}

/** Returns whether the types allow a value of one to be a value of the other. */
function isOfType(sent: Variant, taken: Variant): boolean {
  if (taken.type === undefined || sent.type === taken.type) return true;
  if (sent.type === 'integer' && taken.type === 'number') return true;
  return sent.enum?.every((value) => isValueOfType(value, taken.type!)) ?? false;
}

function isValueOfType(value: unknown, type: string): boolean {
  if (type === 'integer') return Number.isInteger(value);
  if (value === null) return type === 'null';
  const typeOfValue: string = typeof value;
  return typeOfValue === type;
}

/** Pairs of bounds, and the number that they bound. */
const bounds = [
  {
    minimum: 'minLength',
    maximum: 'maxLength',
    unit: ' characters',
    numberOf: (text: unknown) => [...`${text}`].length,
  },
  { minimum: 'minItems', maximum: 'maxItems', unit: ' entries', numberOf: () => 0 },
  { minimum: 'minimum', maximum: 'maximum', unit: '', numberOf: Number },
];

/** Returns gaps for sent numbers, lengths and counts outside the accepted bounds. */
function boundGaps(sent: Variant, taken: Variant, place: string): Gap[] {
  return bounds.flatMap(({ minimum, maximum, unit, numberOf }) => {
    const lowest = unit === '' ? Number.NEGATIVE_INFINITY : 0;
    const rangeOf = (variant: Variant) => {
      const numbers = variant.enum?.map(numberOf);
      if (numbers) return [Math.min(...numbers), Math.max(...numbers)] as const;
      const [least = lowest, most = Number.POSITIVE_INFINITY] = [variant[minimum], variant[maximum]] as number[];
      return [least, most] as const;
    };
    const phrase = (words: string, at: number) =>
      at === lowest || at === Number.POSITIVE_INFINITY ? `any number${unit && ` of${unit}`}` : `${words} ${at}${unit}`;
    const gap = (words: string, one: number, other: number): Gap[] => [
      { place, kind: 'type', sent: phrase(words, one), taken: phrase(words, other) },
    ];
    const [[least, most], [leastTaken, mostTaken]] = [rangeOf(sent), rangeOf(taken)];
    return [
      ...(least < leastTaken ? gap('at least', least, leastTaken) : []),
      ...(most > mostTaken ? gap('at most', most, mostTaken) : []),
    ];
  });
}

/** Keywords that are compared by meaning. */
const compared = new Set([
  ...bounds.flatMap(({ minimum, maximum }) => [minimum, maximum]),
  ...['type', 'enum', 'prefixItems', 'items', 'properties', 'required', 'additionalProperties', 'propertyNames'],
]);

/** Returns gaps for other keywords of the receiver that the sender lacks or sets otherwise. A reference may mean something else. */
function otherGaps(sent: Variant, taken: Variant, place: string): Gap[] {
  const phrase = (keyword: string, value: unknown) =>
    value === undefined
      ? `any ${keyword}`
      : `the ${keyword} ${typeof value === 'string' ? value : JSON.stringify(value)}`;
  const isSame = (keyword: string) =>
    isDeepStrictEqual(sent[keyword], taken[keyword]) && !JSON.stringify(taken[keyword]).includes('"$ref"');
  const others = Object.keys(taken).filter((keyword) => !compared.has(keyword) && !isSame(keyword));
  return others.map((keyword) => ({
    place,
    kind: 'type',
    sent: sent.enum ? list(sent.enum) : phrase(keyword, sent[keyword]),
    taken: phrase(keyword, taken[keyword]),
  }));
}

function listGaps(sent: Variant, taken: Variant, place: string, { gapsAt }: Comparison): Gap[] {
  const fixed = Math.max(sent.prefixItems?.length ?? 0, taken.prefixItems?.length ?? 0);
  const most = (sent.maxItems as number | undefined) ?? Number.POSITIVE_INFINITY;
  const entryOf = ({ prefixItems, items }: Variant, index: number): Schema => prefixItems?.[index] ?? items ?? true;
  const gaps = Array.from({ length: Math.min(fixed, most) }, (_, index) =>
    gapsAt(entryOf(sent, index), entryOf(taken, index), `${place}[${index}]`),
  ).flat();
  return most > fixed ? [...gaps, ...gapsAt(sent.items ?? true, taken.items ?? true, `${place}[]`)] : gaps;
}

/** Returns the gaps between the fields of two objects, and between their other keys, such as those of a map. */
function objectGaps(sent: Variant, taken: Variant, place: string, comparison: Comparison): Gap[] {
  const { receiver, gapsAt } = comparison;
  const [fields, fieldsTaken] = [sent.properties ?? {}, taken.properties ?? {}];
  const others = otherKeysOf(sent);
  const hasDefault = (field: Schema | undefined) =>
    receiver !== 'client' && typeof field === 'object' && 'default' in field;
  const missing = (taken.required ?? [])
    .filter((name) => !sent.required?.includes(name) && !hasDefault(fieldsTaken[name]))
    .map((name): Gap => {
      const isDeclared = name in fields || others !== undefined;
      return {
        place: `${place}.${name}`,
        kind: 'missing',
        sent: isDeclared ? 'maybe nothing' : 'nothing',
        taken: 'a value',
      };
    });
  // Any key of a map may have the name of a field that the receiver accepts.
  const named = others === undefined ? [] : Object.keys(fieldsTaken).filter((name) => !(name in fields));
  const outer = takenBeside(taken, receiver);
  const keyGaps = (inner: Schema, taker: Schema | undefined, at: string, phrase: string): Gap[] => {
    if (taker === false) return [{ place: at, kind: 'unknown', sent: phrase, taken: 'nothing' }];
    return taker === undefined ? [] : gapsAt(inner, taker, at);
  };
  return [
    ...missing,
    ...Object.entries(fields).flatMap(([name, field]) =>
      keyGaps(field, fieldsTaken[name] ?? outer, `${place}.${name}`, 'a value'),
    ),
    ...named.flatMap((name) => gapsAt(others!, fieldsTaken[name]!, `${place}.${name}`)),
    ...(others === undefined ? [] : keyGaps(others, outer, `${place}.*`, 'any keys')),
    ...keyNameGaps(sent, taken, place, comparison),
  ];
}

/** Returns the schema of keys that an object does not name; undefined if a sender sends none. */
function otherKeysOf({ properties, additionalProperties }: Variant): Schema | undefined {
  if (additionalProperties === false) return undefined;
  return additionalProperties ?? (properties ? undefined : true);
}

/** Returns the schema a receiver applies to keys that it does not name: undefined if it ignores them, false if it rejects them. */
function takenBeside({ properties, additionalProperties }: Variant, receiver: Receiver): Schema | undefined {
  if (additionalProperties === undefined) return properties && receiver === 'operation' ? false : undefined;
  return additionalProperties === false && receiver === 'client' ? undefined : additionalProperties;
}

/** Returns gaps for key names that the receiver's map does not accept. */
function keyNameGaps(sent: Variant, taken: Variant, place: string, { gapsAt }: Comparison): Gap[] {
  if (taken.propertyNames === undefined) return [];
  const names: Schema[] = sent.properties ? [{ type: 'string', enum: Object.keys(sent.properties) }] : [];
  if (otherKeysOf(sent) !== undefined) names.push(sent.propertyNames ?? { type: 'string' });
  return names.flatMap((name) => gapsAt(name, taken.propertyNames!, `${place}.*`));
}

/** Returns shapes as a phrase: `a string or null`. */
function phraseOf(variants: Variant[]): string {
  const phrases = variants.map(({ type, enum: values, format }) => {
    if (values) return list(values);
    if (type === undefined) return 'any value';
    if (type === 'null') return 'null';
    const name = type === 'array' ? 'list' : type;
    return `${/^[aio]/.test(name) ? 'an' : 'a'} ${name}${format === undefined ? '' : ` (${format})`}`;
  });
  return [...new Set(phrases)].join(' or ') || 'no value';
}

/** Maximum number of values that a sentence lists. */
const maxNamed = 12;

function list(values: unknown[]): string {
  const named = values.slice(0, maxNamed).map((value) => JSON.stringify(value));
  return values.length > maxNamed ? `${named.join(', ')} and ${values.length - maxNamed} more` : named.join(', ');
}
