import type { Comparison, Gap } from './gap.ts';
import type { Schema, Variant } from './json-schema.ts';

/** Returns the gaps between the fields of two objects. */
export function objectGapsOf(sent: Variant, taken: Variant, place: string, comparison: Comparison): Gap[] {
  if (sent.type !== 'object') return [];
  return [
    ...missingFields(sent, taken, place, comparison),
    ...fieldGaps(sent, taken, place, comparison),
    ...otherKeyGaps(sent, taken, place, comparison),
    ...keyNameGaps(sent, taken, place, comparison),
  ];
}

/** Fields that the receiver requires and the sender may leave out. */
function missingFields(sent: Variant, taken: Variant, place: string, { receiver }: Comparison): Gap[] {
  const hasDefault = (name: string) => {
    const field = taken.properties?.[name];
    return receiver !== 'client' && typeof field === 'object' && 'default' in field;
  };
  const required = (taken.required ?? []).filter((name) => !sent.required?.includes(name) && !hasDefault(name));
  return required.map((name) => {
    const isDeclared = sent.properties?.[name] !== undefined || keysOf(sent) !== undefined;
    return {
      place: `${place}.${name}`,
      kind: 'missing',
      sent: isDeclared ? 'maybe nothing' : 'nothing',
      taken: 'a value',
    };
  });
}

/** The schema of keys that an object does not name; undefined where a sender sends none. */
function keysOf({ properties, additionalProperties }: Variant): Schema | undefined {
  if (additionalProperties === false) return undefined;
  return additionalProperties ?? (properties ? undefined : true);
}

/** Returns what a receiver takes under a key: undefined for one that it ignores, false for one that it refuses. */
function takenAt({ properties, additionalProperties }: Variant, name: string, { receiver }: Comparison) {
  if (properties && Object.hasOwn(properties, name)) return properties[name]!;
  if (additionalProperties === undefined && !properties) return undefined; // any object
  if (additionalProperties !== undefined && additionalProperties !== false) return additionalProperties;
  if (receiver === 'client') return undefined;
  return receiver === 'operation' || additionalProperties === false ? false : undefined;
}

function fieldGaps(sent: Variant, taken: Variant, place: string, comparison: Comparison): Gap[] {
  return Object.entries(sent.properties ?? {}).flatMap(([name, field]) => {
    const at = `${place}.${name}`;
    const outer = takenAt(taken, name, comparison);
    if (outer === undefined || isNever(field)) return [];
    if (outer === false) return [{ place: at, kind: 'unknown', sent: 'a value', taken: 'nothing' }];
    return comparison.gapsAt(field, outer, at);
  });
}

function isNever(field: Schema): boolean {
  return field === false || (typeof field === 'object' && JSON.stringify(field.not) === '{}');
}

/** Keys that the sender does not name, such as those of a map. */
function otherKeyGaps(sent: Variant, taken: Variant, place: string, comparison: Comparison): Gap[] {
  const others = keysOf(sent);
  if (others === undefined) return [];
  const allowed = namesOf(sent);
  const named = Object.keys(taken.properties ?? {})
    .filter((name) => !Object.hasOwn(sent.properties ?? {}, name) && (allowed?.includes(name) ?? true))
    .flatMap((name) => comparison.gapsAt(others, taken.properties![name]!, `${place}.${name}`));
  if (allowed?.every((name) => Object.hasOwn(taken.properties ?? {}, name))) return named;
  const outer = takenAt({ ...taken, properties: taken.properties && {} } as Variant, '', comparison);
  if (outer === undefined) return named;
  if (outer === false) return [...named, { place: `${place}.*`, kind: 'unknown', sent: 'any keys', taken: 'none' }];
  return [...named, ...comparison.gapsAt(others, outer, `${place}.*`)];
}

/** The only names that the keys of a map may have; undefined where there are others. */
function namesOf({ propertyNames }: Variant): string[] | undefined {
  return typeof propertyNames === 'object' ? (propertyNames.enum as string[] | undefined) : undefined;
}

/** Names of keys that the receiver's map does not take. */
function keyNameGaps(sent: Variant, taken: Variant, place: string, comparison: Comparison): Gap[] {
  if (taken.propertyNames === undefined) return [];
  const declared = Object.keys(sent.properties ?? {});
  const names: Schema[] = declared.length > 0 ? [{ type: 'string', enum: declared }] : [];
  if (keysOf(sent) !== undefined) names.push(sent.propertyNames ?? { type: 'string' });
  return names.flatMap((name) => comparison.gapsAt(name, taken.propertyNames!, `${place}.*`));
}
