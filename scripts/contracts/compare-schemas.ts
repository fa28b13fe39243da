import { isDeepStrictEqual } from 'node:util';
import { boundGapsOf } from './bounds.ts';
import type { Comparison, Gap, Receiver } from './gap.ts';
import { areDisjoint, dereferenced, discriminatorOf, type Schema, type Variant, variantsOf } from './json-schema.ts';
import { objectGapsOf } from './object-gaps.ts';

/**
 * Returns the ways in which a value of `inner` is no value of `outer`; senders send the fields that `inner` declares and no others.
 * None is returned only where there surely is none; patterns, formats and keywords that are not known must be the same. Throws an Error if a `$ref` leads nowhere.
 */
export function gapsOf(inner: Schema, outer: Schema, receiver: Receiver): Gap[] {
  // Pairs that are being compared: one that comes again below itself has no other gaps than it has above.
  const underWay: [Schema, Schema][] = [];
  const comparison: Comparison = {
    receiver,
    gapsAt(innerGiven, outerGiven, place) {
      const [innerPart, outerPart] = [dereferenced(innerGiven, inner), dereferenced(outerGiven, outer)];
      if (underWay.some(([one, other]) => one === innerPart && other === outerPart)) return [];
      const sent = variantsOf(innerPart, inner);
      const taken = variantsOf(outerPart, outer);
      if (taken.some(isAnything)) return [];
      underWay.push([innerPart, outerPart]);
      try {
        return withoutRepeats(sent.flatMap((variant) => gapsInUnion(variant, taken, place, comparison)));
      } finally {
        underWay.pop();
      }
    },
  };
  return comparison.gapsAt(inner, outer, '');
}

function isAnything(variant: Variant): boolean {
  return Object.keys(variant).length === 0;
}

function withoutRepeats(gaps: Gap[]): Gap[] {
  return [...new Map(gaps.map((gap) => [JSON.stringify(gap), gap])).values()];
}

/** Returns the gaps between one shape and those of which its values must be. */
function gapsInUnion(sent: Variant, taken: Variant[], place: string, comparison: Comparison): Gap[] {
  if (taken.length === 0) return [{ place, kind: 'type', sent: phraseOf([sent]), taken: 'no value' }];
  if (sent.enum) return valueGaps(sent, taken, place, comparison);
  const gaps = taken.map((variant) => variantGaps(sent, variant, place, comparison));
  if (gaps.some((each) => each.length === 0)) return [];
  if (sent.type === undefined) return untypedGaps(sent, taken, place, comparison);
  const alike = taken.flatMap((variant, index) => (isOfType(sent, variant) ? [{ variant, gaps: gaps[index]! }] : []));
  if (alike.length === 0) return [{ place, kind: 'type', sent: phraseOf([sent]), taken: phraseOf(taken) }];
  const near = alike.filter(({ variant }) => !areDisjoint(sent, variant));
  if (near.length === 0 && alike.length > 1) {
    const name = discriminatorOf(sent, alike[0]!.variant);
    if (name !== undefined)
      return [
        variantGap(
          sent,
          alike.map(({ variant }) => variant),
          name,
          place,
        ),
      ];
  }
  return (near.length > 0 ? near : alike).reduce((one, other) => (other.gaps.length < one.gaps.length ? other : one))
    .gaps;
}

/** A shape of a union whose kind, the value of the field `name`, no other has. */
function variantGap(sent: Variant, taken: Variant[], name: string, place: string): Gap {
  const kindsOf = (variants: Variant[]) => {
    const fields = variants.map(({ properties }) => properties?.[name]).filter((field) => typeof field === 'object');
    return list(fields.flatMap((field) => ('const' in field ? [field.const] : (field.enum ?? []))));
  };
  return { place: `${place}.${name}`, kind: 'variant', sent: kindsOf([sent]), taken: kindsOf(taken) };
}

/** Each value of an enum may be of another shape. */
function valueGaps(sent: Variant, taken: Variant[], place: string, comparison: Comparison): Gap[] {
  const isTaken = (value: unknown) =>
    taken.some((variant) => variantGaps({ ...sent, enum: [value] }, variant, place, comparison).length === 0);
  const refused = sent.enum!.filter((value) => !isTaken(value));
  if (refused.length === 0) return [];
  const alike = taken.filter((variant) => isOfType(sent, variant));
  if (alike.some((variant) => variant.enum))
    return [{ place, kind: 'value', sent: list(refused), taken: phraseOf(taken) }];
  if (alike.length === 0) return [{ place, kind: 'type', sent: list(refused), taken: phraseOf(taken) }];
  return variantGaps({ ...sent, enum: refused }, alike[0]!, place, comparison);
}

/** A shape without a type has values of all types, each of which may be of another shape. */
function untypedGaps(sent: Variant, taken: Variant[], place: string, comparison: Comparison): Gap[] {
  const types = ['null', 'boolean', 'number', 'string', 'array', 'object'];
  const isTaken = types.every((type) =>
    taken.some((variant) => variantGaps({ ...sent, type }, variant, place, comparison).length === 0),
  );
  return isTaken ? [] : [{ place, kind: 'type', sent: phraseOf([sent]), taken: phraseOf(taken) }];
}

/** Returns the gaps between two shapes. */
function variantGaps(sent: Variant, taken: Variant, place: string, comparison: Comparison): Gap[] {
  if (isAnything(taken)) return [];
  if (!isOfType(sent, taken)) return [{ place, kind: 'type', sent: phraseOf([sent]), taken: phraseOf([taken]) }];
  if (taken.enum) {
    const others = sent.enum?.filter((value) => !taken.enum!.includes(value)) ?? [];
    if (!sent.enum) return [{ place, kind: 'type', sent: phraseOf([sent]), taken: phraseOf([taken]) }];
    if (others.length > 0) return [{ place, kind: 'value', sent: list(others), taken: list(taken.enum) }];
  }
  return [
    ...boundGapsOf(sent, taken, place),
    ...textGaps(sent, taken, place),
    ...arrayGaps(sent, taken, place, comparison),
    ...objectGapsOf(sent, taken, place, comparison),
    ...opaqueGaps(sent, taken, place),
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

/** Keywords that say how a text is written. One text may match two patterns, but whether every one does is not compared. */
const textKeywords = ['pattern', 'format', 'contentEncoding', 'contentMediaType'];

function textGaps(sent: Variant, taken: Variant, place: string): Gap[] {
  return textKeywords.flatMap((keyword): Gap[] => {
    if (taken[keyword] === undefined || taken[keyword] === sent[keyword]) return [];
    const phrase = ({ [keyword]: value }: Variant) =>
      value === undefined ? `texts of any ${keyword}` : `the ${keyword} ${value}`;
    return [{ place, kind: 'text', sent: sent.enum ? list(sent.enum) : phrase(sent), taken: phrase(taken) }];
  });
}

function arrayGaps(sent: Variant, taken: Variant, place: string, { gapsAt }: Comparison): Gap[] {
  if (sent.type !== 'array') return [];
  const fixed = Math.max(sent.prefixItems?.length ?? 0, taken.prefixItems?.length ?? 0);
  const most = typeof sent.maxItems === 'number' ? sent.maxItems : Number.POSITIVE_INFINITY;
  const entryOf = ({ prefixItems, items }: Variant, index: number): Schema => prefixItems?.[index] ?? items ?? true;
  const gaps = Array.from({ length: Math.min(fixed, most) }, (_, index) =>
    gapsAt(entryOf(sent, index), entryOf(taken, index), `${place}[${index}]`),
  ).flat();
  return most > fixed ? [...gaps, ...gapsAt(sent.items ?? true, taken.items ?? true, `${place}[]`)] : gaps;
}

/** Keywords that are compared by what they mean. */
const known = new Set(
  [
    'type enum minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength',
    'minItems maxItems prefixItems items minProperties maxProperties properties required',
    'additionalProperties propertyNames pattern format contentEncoding contentMediaType',
  ].flatMap((keywords) => keywords.split(' ')),
);

/** Keywords that the receiver has and nobody here knows: they must be the same, and refer to nothing that may differ. */
function opaqueGaps(sent: Variant, taken: Variant, place: string): Gap[] {
  const isSame = (keyword: string) =>
    isDeepStrictEqual(sent[keyword], taken[keyword]) && !JSON.stringify(taken[keyword]).includes('"$ref"');
  const differing = Object.keys(taken).filter((keyword) => !known.has(keyword) && !isSame(keyword));
  return differing.map((keyword) => ({ place, kind: 'opaque', sent: `another ${keyword}`, taken: `its ${keyword}` }));
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
  return [...new Set(phrases)].join(' or ');
}

/** Number of values that a sentence names. */
const maxNamed = 12;

function list(values: unknown[]): string {
  const named = values.slice(0, maxNamed).map((value) => JSON.stringify(value));
  return values.length > maxNamed ? `${named.join(', ')} and ${values.length - maxNamed} more` : named.join(', ');
}
