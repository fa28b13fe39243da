import { isDeepStrictEqual } from 'node:util';

/** Fields of a PATCH; a missing one is undefined. */
type Given<Value> = { readonly [Name in keyof Value]?: Value[Name] | undefined };

/** Returns a copy of `before` with the given fields replaced; an undefined field keeps its value. */
export function applyPatch<Value extends object>(before: Value, given: Given<NoInfer<Value>>): Value {
  return { ...before, ...Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) };
}

/** Returns a copy of `before` with `changes` merged in by key. A null value removes its key; null as `changes` removes all keys. */
export function mergedByKey<Value>(
  before: Readonly<Record<string, Value>>,
  changes: Readonly<Record<string, Value | null>> | null = {},
): Record<string, Value> {
  if (changes === null) return {};
  const entries = Object.entries<Value | null>({ ...before, ...changes });
  return Object.fromEntries(entries.filter((entry): entry is [string, Value] => entry[1] !== null));
}

/**
 * Returns the former values of what a change replaced, as in the `previous` of its event. Undefined if it replaced nothing. Compares only the
 * fields of `before`.
 */
export function changedValues<Value extends object>(before: Value, after: Value): Partial<Value> | undefined {
  const changed = Object.entries(before).filter(([name, value]) => !isSameValue(value, after[name as keyof Value]));
  return changed.length === 0 ? undefined : (Object.fromEntries(changed) as Partial<Value>);
}

/** Returns whether two values are the same as JSON, whatever the order of their keys. */
export function isSameValue(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other) || isDeepStrictEqual(one, other);
}
