import { isDeepStrictEqual } from 'node:util';
import { dereferenced, discriminatorOf, type Schema, type Variant, valuesOf, variantsOf } from './json-schema.ts';

/** A way in which a value that one schema allows, which is sent, is no value of another, which is taken. */
export interface Gap {
  /** Steps from the schema's root to the value: `.name` of a field, `[]` for entries, `.*` for any key. */
  place: string;
  /**
   * `missing`: a required field that may not be there. `unknown`: a field that is refused. `value`: a value of an enum. `variant`: a
   * shape of a union. `type`: another type, bound, pattern or format.
   */
  kind: 'missing' | 'unknown' | 'value' | 'variant' | 'type';
  /** Phrases for what may be sent and what is taken; `sent` is `nothing` for a field that the sender does not have. */
  sent: string;
  taken: string;
}

/**
 * Who takes the value. An `operation` refuses keys that it does not know. A `service` validates what comes over the bus: it refuses unknown
 * keys only where `additionalProperties` says so, and a field with a default is never missing. A `client` ignores unknown keys, and knows no
 * defaults.
 */
export type Receiver = 'operation' | 'service' | 'client';

interface Comparison {
  receiver: Receiver;
  /** Compares a value of the sender's schema with one of the receiver's, both at `place`. */
  gapsAt(inner: Schema, outer: Schema, place: string): Gap[];
}

/**
 * Returns the ways in which a value of `inner` is no value of `outer`; senders send the fields that `inner` declares and no others. Keywords
 * without a comparison below, such as patterns and formats, must be the same. Throws an Error if a `$ref` leads nowhere.
 */
export function gapsOf(inner: Schema, outer: Schema, receiver: Receiver): Gap[] {
  // A pair that comes again below itself, as in a tree, has no other gaps there.
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

/** Returns the gaps between one shape and those of which its values must be: the fewest, of the shapes that it is most like. */
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

/** A shape of a union that differs from all others in the field that tells them apart. */
function variantGap(sent: Variant, taken: Variant[], place: string): Gap {
  const name = discriminatorOf(sent, taken[0]!)!;
  const kindsOf = (variants: Variant[]) => list(variants.flatMap((each) => valuesOf(each.properties?.[name]) ?? []));
  return { place: `${place}.${name}`, kind: 'variant', sent: kindsOf([sent]), taken: kindsOf(taken) };
}

/** Each value of an enum may be of another shape. */
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

/** Returns whether a value of the one may be of the other as far as their types say. */
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

/** Pairs of bounds, and the number of a value that they bound. */
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

/** Returns where numbers, lengths and counts that are sent are out of the bounds of those that are taken. */
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

/** Keywords that are compared by what they mean. */
const compared = new Set([
  ...bounds.flatMap(({ minimum, maximum }) => [minimum, maximum]),
  ...['type', 'enum', 'prefixItems', 'items', 'properties', 'required', 'additionalProperties', 'propertyNames'],
]);

/** Returns where the receiver has another keyword that the sender has not, or with another value; a reference may mean something else. */
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
  // Any key of a map may have the name of a field that the receiver takes.
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

/** Returns the schema of keys that an object does not name; undefined where a sender sends none. */
function otherKeysOf({ properties, additionalProperties }: Variant): Schema | undefined {
  if (additionalProperties === false) return undefined;
  return additionalProperties ?? (properties ? undefined : true);
}

/** Returns what a receiver takes under keys that it does not name: undefined where it ignores them, false where it refuses them. */
function takenBeside({ properties, additionalProperties }: Variant, receiver: Receiver): Schema | undefined {
  if (additionalProperties === undefined) return properties && receiver === 'operation' ? false : undefined;
  return additionalProperties === false && receiver === 'client' ? undefined : additionalProperties;
}

/** Returns the names of keys that the receiver's map does not take. */
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

/** Number of values that a sentence names. */
const maxNamed = 12;

function list(values: unknown[]): string {
  const named = values.slice(0, maxNamed).map((value) => JSON.stringify(value));
  return values.length > maxNamed ? `${named.join(', ')} and ${values.length - maxNamed} more` : named.join(', ');
}
