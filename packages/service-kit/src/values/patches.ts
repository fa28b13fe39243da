import { isDeepStrictEqual } from 'node:util';

/** Fields of a PATCH: those left out are undefined. */
type Given<Value> = { readonly [Name in keyof Value]?: Value[Name] | undefined };

/** Returns a copy of `before` with the given fields replaced: an undefined one stays as it was. */
export function withGiven<Value extends object>(before: Value, given: Given<NoInfer<Value>>): Value {
  return { ...before, ...Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) };
}

/** Returns a copy of `before` with the entries of `changes` merged in by key: null removes one, and null instead of changes all of them. */
export function mergedByKey<Value>(
  before: Readonly<Record<string, Value>>,
  changes: Readonly<Record<string, Value | null>> | null = {},
): Record<string, Value> {
  if (changes === null) return {};
  const entries = Object.entries<Value | null>({ ...before, ...changes });
  return Object.fromEntries(entries.filter((entry): entry is [string, Value] => entry[1] !== null));
}

/**
 * The former values of what a change replaced, as the `previous` of its event says them; undefined where it replaced nothing. Compares
 * what `before` has.
 */
export function changedValues<Value extends object>(before: Value, after: Value): Partial<Value> | undefined {
  const changed = Object.entries(before).filter(([name, value]) => !isSameValue(value, after[name as keyof Value]));
  return changed.length === 0 ? undefined : (Object.fromEntries(changed) as Partial<Value>);
}

/** Returns whether two values are the same as JSON, in any order of their keys. */
export function isSameValue(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other) || isDeepStrictEqual(one, other);
}
